// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

/// Each case breaks one constraint of an op that moves elements.

// broadcast_in_dim_c1
func.func @broadcast_in_dim_c1(%x: tensor<3xf32>) {
  // expected-error@below {{'stablehlo.broadcast_in_dim' op operand and result must have the same element type, up to the dimension and parameters of per-axis quantization, got 'f32' and 'f64'}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<3xf32>) -> tensor<3xf64>
  return
}

// -----

// broadcast_in_dim_c1
func.func @broadcast_in_dim_c1_2(%x: tensor<2x4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) {
  // expected-error@below {{'stablehlo.broadcast_in_dim' op operand and result must have the same element type, up to the dimension and parameters of per-axis quantization, got '!quant.uniform<i8:f32:0, {1.000000e+00,2.000000e+00}>' and '!quant.uniform<i16:f32:0, {1.000000e+00,2.000000e+00}>'}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<2x4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) -> tensor<2x4x!quant.uniform<i16:f32:0, {1.0, 2.0}>>
  return
}

// -----

// broadcast_in_dim_c2
func.func @broadcast_in_dim_c2(%x: tensor<3xf32>) {
  // expected-error@below {{'stablehlo.broadcast_in_dim' op broadcast_dimensions must have one entry for each dimension of the operand, got 2 for 1}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<3xf32>) -> tensor<3x3xf32>
  return
}

// -----

// broadcast_in_dim_c3
func.func @broadcast_in_dim_c3(%x: tensor<3xf32>) {
  // expected-error@below {{'stablehlo.broadcast_in_dim' op broadcast_dimensions must be dimensions of the result, in [0, 1), got 1}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

// broadcast_in_dim_c3
func.func @broadcast_in_dim_c3_2(%x: tensor<3xf32>) {
  // expected-error@below {{'stablehlo.broadcast_in_dim' op broadcast_dimensions must be dimensions of the result, in [0, 1), got -1}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [-1] : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

// broadcast_in_dim_c4
func.func @broadcast_in_dim_c4(%x: tensor<3x3xf32>) {
  // expected-error@below {{'stablehlo.broadcast_in_dim' op broadcast_dimensions must be unique, got 0 twice}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

// broadcast_in_dim_c5
func.func @broadcast_in_dim_c5(%x: tensor<3xf32>) {
  // expected-error@below {{'stablehlo.broadcast_in_dim' op dimension 0 of the operand must have size 1 or the size of dimension 0 of the result, 4, got 3}}
  // expected-note@below {{broadcast_dimensions[0] is the dimension of the result that it maps to}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<3xf32>) -> tensor<4x3xf32>
  return
}

// -----

// broadcast_in_dim_c6
func.func @broadcast_in_dim_c6(%x: tensor<2x4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) {
  // expected-error@below {{'stablehlo.broadcast_in_dim' op result must be quantized along dimension 1, to which the operand's quantized dimension 0 is broadcast, got dimension 0}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<2x4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) -> tensor<2x2x4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>
  return
}

// -----

// broadcast_in_dim_c6
func.func @broadcast_in_dim_c6_2(%x: tensor<1x4x!quant.uniform<i8:f32:0, {1.0}>>) {
  // expected-error@below {{'stablehlo.broadcast_in_dim' op result must repeat the operand's single scale and zero point, got '!quant.uniform<i8:f32:0, {1.000000e+00,2.000000e+00}>' for '!quant.uniform<i8:f32:0, {1.000000e+00}>'}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<1x4x!quant.uniform<i8:f32:0, {1.0}>>) -> tensor<2x4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>
  return
}

// -----

// broadcast_in_dim_o1
func.func @broadcast_in_dim_o1(%x: tensor<3xf32>) {
  // expected-error@below {{'stablehlo.broadcast_in_dim' op result #0 must be statically shaped or bounded tensor of bool or 2/4/8/16/32/64-bit integer or 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor quantized integer (zero point in its range) or per-axis quantized integer (one scale per slice) values, but got 'tensor<?x3xf32>'}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<?x3xf32>
  return
}

// -----

// concatenate_c1
func.func @concatenate_c1(%x: tensor<3xf32>, %y: tensor<3xf64>) {
  // expected-error@below {{'stablehlo.concatenate' op inputs must have the same element type, got 'f32' for input 0 and 'f64' for input 1}}
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<3xf32>, tensor<3xf64>) -> tensor<6xf32>
  return
}

// -----

// concatenate_c2
func.func @concatenate_c2(%x: tensor<3x2xf32>, %y: tensor<3x3xf32>) {
  // expected-error@below {{'stablehlo.concatenate' op inputs must have the same shape except in dimension 0, got 'tensor<3x2xf32>' for input 0 and 'tensor<3x3xf32>' for input 1}}
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<3x2xf32>, tensor<3x3xf32>) -> tensor<6x2xf32>
  return
}

// -----

// concatenate_c2
func.func @concatenate_c2_2(%x: tensor<3x2xf32>, %y: tensor<3xf32>) {
  // expected-error@below {{'stablehlo.concatenate' op inputs must have the same rank, got 2 for input 0 and 1 for input 1}}
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<3x2xf32>, tensor<3xf32>) -> tensor<6x2xf32>
  return
}

// -----

// concatenate_c3
func.func @concatenate_c3() {
  // expected-error@below {{'stablehlo.concatenate' op must have at least one input, got none}}
  %0 = "stablehlo.concatenate"() <{dimension = 0 : i64}> : () -> tensor<0xf32>
  return
}

// -----

// concatenate_c4
func.func @concatenate_c4(%x: tensor<3xf32>) {
  // expected-error@below {{'stablehlo.concatenate' op dimension must be a dimension of the inputs, in [0, 1), got 1}}
  %0 = stablehlo.concatenate %x, dim = 1 : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

// concatenate_c4
func.func @concatenate_c4_2(%x: tensor<f32>) {
  // expected-error@below {{'stablehlo.concatenate' op dimension must be a dimension of the inputs, in [0, 0), got 0}}
  %0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

// concatenate_c4
func.func @concatenate_c4_3(%x: tensor<3xf32>) {
  // expected-error@below {{'stablehlo.concatenate' op dimension must be a dimension of the inputs, in [0, 1), got -1}}
  %0 = stablehlo.concatenate %x, dim = -1 : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

// concatenate_c5
func.func @concatenate_c5(%x: tensor<3xf32>) {
  // expected-error@below {{'stablehlo.concatenate' op result must have the element type of the inputs, 'f32', got 'f64'}}
  %0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf64>
  return
}

// -----

// concatenate_c6
func.func @concatenate_c6(%x: tensor<3x2xf32>) {
  // expected-error@below {{'stablehlo.concatenate' op result must have the shape of the inputs concatenated along dimension 0, [6, 2], got [5, 2]}}
  %0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<5x2xf32>
  return
}

// -----

// concatenate_c6
func.func @concatenate_c6_2(%x: tensor<9223372036854775807xf32>) {
  // expected-error@below {{'stablehlo.concatenate' op sizes along dimension 0 must add up to less than 2^63, got 9223372036854775807 and 9223372036854775807}}
  %0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<9223372036854775807xf32>, tensor<9223372036854775807xf32>) -> tensor<?xf32>
  return
}

// -----

// pad_c1
func.func @pad_c1(%x: tensor<3xf32>, %v: tensor<f64>) {
  // expected-error@below {{'stablehlo.pad' op operand, padding_value and result must have the same element type, got 'f32', 'f64' and 'f32'}}
  %0 = stablehlo.pad %x, %v, low = [0], high = [0], interior = [0] : (tensor<3xf32>, tensor<f64>) -> tensor<3xf32>
  return
}

// -----

// pad_c2
func.func @pad_c2(%x: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error@below {{'stablehlo.pad' op edge_padding_low must have one entry for each dimension of the operand, got 2 for 1}}
  %0 = stablehlo.pad %x, %v, low = [0, 0], high = [0], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

// pad_c2
func.func @pad_c2_2(%x: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error@below {{'stablehlo.pad' op edge_padding_high must have one entry for each dimension of the operand, got 0 for 1}}
  %0 = stablehlo.pad %x, %v, low = [0], high = [], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

// pad_c2
func.func @pad_c2_3(%x: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error@below {{'stablehlo.pad' op interior_padding must have one entry for each dimension of the operand, got 2 for 1}}
  %0 = stablehlo.pad %x, %v, low = [0], high = [0], interior = [0, 0] : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

// pad_c3
func.func @pad_c3(%x: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error@below {{'stablehlo.pad' op interior_padding must not be negative, got -1 for dimension 0}}
  %0 = stablehlo.pad %x, %v, low = [0], high = [0], interior = [-1] : (tensor<3xf32>, tensor<f32>) -> tensor<1xf32>
  return
}

// -----

// pad_c4
func.func @pad_c4(%x: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error@below {{'stablehlo.pad' op result must have the padded shape, [8], got [7]}}
  %0 = stablehlo.pad %x, %v, low = [1], high = [2], interior = [1] : (tensor<3xf32>, tensor<f32>) -> tensor<7xf32>
  return
}

// -----

// pad_c4
func.func @pad_c4_2(%x: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error@below {{'stablehlo.pad' op padding dimension 0 of size 3 with low -2, high -2 and interior 0 must result in a size from 0 to 2^63 - 1}}
  %0 = stablehlo.pad %x, %v, low = [-2], high = [-2], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<0xf32>
  return
}

// -----

// pad_c4
func.func @pad_c4_3(%x: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error@below {{'stablehlo.pad' op padding dimension 0 of size 3 with low 0, high 0 and interior 9223372036854775807 must result in a size from 0 to 2^63 - 1}}
  %0 = stablehlo.pad %x, %v, low = [0], high = [0], interior = [9223372036854775807] : (tensor<3xf32>, tensor<f32>) -> tensor<?xf32>
  return
}

// -----

// pad_i2
func.func @pad_i2(%x: tensor<3xf32>, %v: tensor<1xf32>) {
  // expected-error@below {{'stablehlo.pad' op operand #1 must be 0D tensor of bool or 2/4/8/16/32/64-bit integer or 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor quantized integer (zero point in its range) values, but got 'tensor<1xf32>'}}
  %0 = stablehlo.pad %x, %v, low = [0], high = [0], interior = [0] : (tensor<3xf32>, tensor<1xf32>) -> tensor<3xf32>
  return
}

// -----

// reshape_c1
func.func @reshape_c1(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.reshape' op operand and result must have the same element type, up to the dimension of per-axis quantization, got 'f32' and 'f64'}}
  %0 = stablehlo.reshape %m : (tensor<3x8xf32>) -> tensor<24xf64>
  return
}

// -----

// reshape_c1
func.func @reshape_c1_2(%x: tensor<2x4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) {
  // expected-error@below {{'stablehlo.reshape' op operand and result must have the same element type, up to the dimension of per-axis quantization, got '!quant.uniform<i8:f32:0, {1.000000e+00,2.000000e+00}>' and '!quant.uniform<i8:f32:0, {1.000000e+00,3.000000e+00}>'}}
  %0 = stablehlo.reshape %x : (tensor<2x4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) -> tensor<2x4x!quant.uniform<i8:f32:0, {1.0, 3.0}>>
  return
}

// -----

// reshape_c2
func.func @reshape_c2(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.reshape' op operand and result must have the same number of elements, got [3, 8] and [25]}}
  %0 = stablehlo.reshape %m : (tensor<3x8xf32>) -> tensor<25xf32>
  return
}

// -----

// reshape_c2
func.func @reshape_c2_2(%x: tensor<4294967296x4294967296xf32>) {
  // expected-error@below {{'stablehlo.reshape' op shape [4294967296, 4294967296] has more than 576460752303423487 elements}}
  %0 = stablehlo.reshape %x : (tensor<4294967296x4294967296xf32>) -> tensor<0xf32>
  return
}

// -----

// reshape_c3
func.func @reshape_c3(%x: tensor<2x4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) {
  // expected-error@below {{'stablehlo.reshape' op the quantized dimension and the number of elements before and after it must stay the same, got dimension 0 of [2, 4] and dimension 1 of [4, 2]}}
  %0 = stablehlo.reshape %x : (tensor<2x4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) -> tensor<4x2x!quant.uniform<i8:f32:1, {1.0, 2.0}>>
  return
}

// -----

// reshape_o1
func.func @reshape_o1(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.reshape' op result #0 must be statically shaped or bounded tensor of bool or 2/4/8/16/32/64-bit integer or 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor quantized integer (zero point in its range) or per-axis quantized integer (one scale per slice) values, but got 'tensor<?x8xf32>'}}
  %0 = stablehlo.reshape %m : (tensor<3x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

// reverse_c1
func.func @reverse_c1(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.reverse' op operands and results must have the same shape, got 'tensor<3x8xf32>' and 'tensor<8x3xf32>'}}
  %0 = stablehlo.reverse %m, dims = [0] : (tensor<3x8xf32>) -> tensor<8x3xf32>
  return
}

// -----

// reverse_c1
func.func @reverse_c1_2(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.reverse' op operands and results must have the same element type, got 'tensor<3x8xf32>' and 'tensor<3x8xf64>'}}
  %0 = stablehlo.reverse %m, dims = [0] : (tensor<3x8xf32>) -> tensor<3x8xf64>
  return
}

// -----

// reverse_c2
func.func @reverse_c2(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.reverse' op dimensions must be unique, got 0 twice}}
  %0 = stablehlo.reverse %m, dims = [0, 0] : tensor<3x8xf32>
  return
}

// -----

// reverse_c3
func.func @reverse_c3(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.reverse' op dimensions must be dimensions of the operand, in [0, 2), got 2}}
  %0 = stablehlo.reverse %m, dims = [2] : tensor<3x8xf32>
  return
}

// -----

// reverse_c3
func.func @reverse_c3_2(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.reverse' op dimensions must be dimensions of the operand, in [0, 2), got -1}}
  %0 = stablehlo.reverse %m, dims = [-1] : tensor<3x8xf32>
  return
}

// -----

// slice_c1
func.func @slice_c1(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.slice' op operand and result must have the same element type, got 'f32' and 'f64'}}
  %0 = stablehlo.slice %m [0:3, 0:8] : (tensor<3x8xf32>) -> tensor<3x8xf64>
  return
}

// -----

// slice_c2
func.func @slice_c2(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.slice' op start_indices must have one entry for each dimension of the operand, got 1 for 2}}
  %0 = stablehlo.slice %m [0:3] : (tensor<3x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

// slice_c2
func.func @slice_c2_2(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.slice' op limit_indices must have one entry for each dimension of the operand, got 1 for 2}}
  %0 = "stablehlo.slice"(%m) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 3>, strides = array<i64: 1, 1>}> : (tensor<3x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

// slice_c2
func.func @slice_c2_3(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.slice' op strides must have one entry for each dimension of the operand, got 0 for 2}}
  %0 = "stablehlo.slice"(%m) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 3, 8>, strides = array<i64>}> : (tensor<3x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

// slice_c3
func.func @slice_c3(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.slice' op start and limit must satisfy 0 <= start <= limit <= size in dimension 0 of 'tensor<3x8xf32>', got -1 and 3}}
  %0 = stablehlo.slice %m [-1:3, 0:8] : (tensor<3x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// slice_c3
func.func @slice_c3_2(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.slice' op start and limit must satisfy 0 <= start <= limit <= size in dimension 1 of 'tensor<3x8xf32>', got 5 and 4}}
  %0 = stablehlo.slice %m [0:3, 5:4] : (tensor<3x8xf32>) -> tensor<3x0xf32>
  return
}

// -----

// slice_c3
func.func @slice_c3_3(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.slice' op start and limit must satisfy 0 <= start <= limit <= size in dimension 1 of 'tensor<3x8xf32>', got 0 and 9}}
  %0 = stablehlo.slice %m [0:3, 0:9] : (tensor<3x8xf32>) -> tensor<3x9xf32>
  return
}

// -----

// slice_c4
func.func @slice_c4(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.slice' op strides must be at least 1, got 0 at index 0}}
  %0 = stablehlo.slice %m [0:3:0, 0:8] : (tensor<3x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

// slice_c5
func.func @slice_c5(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.slice' op result must have the shape of the slice, [2, 8], got [3, 8]}}
  %0 = stablehlo.slice %m [0:3:2, 0:8] : (tensor<3x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

// transpose_c1
func.func @transpose_c1(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.transpose' op operand and result must have the same element type, up to the dimension of per-axis quantization, got 'f32' and 'f64'}}
  %0 = stablehlo.transpose %m, dims = [1, 0] : (tensor<3x8xf32>) -> tensor<8x3xf64>
  return
}

// -----

// transpose_c2
func.func @transpose_c2(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.transpose' op permutation must have one entry for each dimension of the operand, got 1 for 2}}
  %0 = stablehlo.transpose %m, dims = [1] : (tensor<3x8xf32>) -> tensor<8x3xf32>
  return
}

// -----

// transpose_c2
func.func @transpose_c2_2(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.transpose' op permutation must be dimensions of the operand, in [0, 2), got 2}}
  %0 = stablehlo.transpose %m, dims = [1, 2] : (tensor<3x8xf32>) -> tensor<8x3xf32>
  return
}

// -----

// transpose_c2
func.func @transpose_c2_3(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.transpose' op permutation must be unique, got 1 twice}}
  %0 = stablehlo.transpose %m, dims = [1, 1] : (tensor<3x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

// transpose_c3
func.func @transpose_c3(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.transpose' op result must have the permuted shape, [8, 3], got [3, 8]}}
  %0 = stablehlo.transpose %m, dims = [1, 0] : (tensor<3x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

// transpose_c4
func.func @transpose_c4(%x: tensor<2x2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) {
  // expected-error@below {{'stablehlo.transpose' op result must be quantized along dimension 1, to which the operand's quantized dimension 0 is transposed, got dimension 0}}
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) -> tensor<2x2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>
  return
}

// -----

// dynamic_slice_c1
func.func @dynamic_slice_c1(%m: tensor<3x8xf32>, %i: tensor<i64>) {
  // expected-error@below {{'stablehlo.dynamic_slice' op operand and result must have the same element type, got 'f32' and 'f64'}}
  %0 = stablehlo.dynamic_slice %m, %i, %i, sizes = [1, 4] : (tensor<3x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x4xf64>
  return
}

// -----

// dynamic_slice_c2
func.func @dynamic_slice_c2(%m: tensor<3x8xf32>, %i: tensor<i64>) {
  // expected-error@below {{'stablehlo.dynamic_slice' op start_indices must have one entry for each dimension of the operand, got 1 for 2}}
  %0 = stablehlo.dynamic_slice %m, %i, sizes = [1, 4] : (tensor<3x8xf32>, tensor<i64>) -> tensor<1x4xf32>
  return
}

// -----

// dynamic_slice_c2
func.func @dynamic_slice_c2_2(%m: tensor<3x8xf32>, %i: tensor<i64>) {
  // expected-error@below {{'stablehlo.dynamic_slice' op slice_sizes must have one entry for each dimension of the operand, got 1 for 2}}
  %0 = stablehlo.dynamic_slice %m, %i, %i, sizes = [4] : (tensor<3x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x4xf32>
  return
}

// -----

// dynamic_slice_c3
func.func @dynamic_slice_c3(%m: tensor<3x8xf32>, %i: tensor<i64>, %j: tensor<i32>) {
  // expected-error@below {{'stablehlo.dynamic_slice' op start_indices must all have the same type, got 'tensor<i64>' and 'tensor<i32>'}}
  %0 = stablehlo.dynamic_slice %m, %i, %j, sizes = [1, 4] : (tensor<3x8xf32>, tensor<i64>, tensor<i32>) -> tensor<1x4xf32>
  return
}

// -----

// dynamic_slice_c4
func.func @dynamic_slice_c4(%m: tensor<3x8xf32>, %i: tensor<i64>) {
  // expected-error@below {{'stablehlo.dynamic_slice' op slice_sizes must be in [0, size of the operand], got 9 for dimension 1 of operand shape [3, 8]}}
  %0 = stablehlo.dynamic_slice %m, %i, %i, sizes = [1, 9] : (tensor<3x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x9xf32>
  return
}

// -----

// dynamic_slice_c4
func.func @dynamic_slice_c4_2(%m: tensor<3x8xf32>, %i: tensor<i64>) {
  // expected-error@below {{'stablehlo.dynamic_slice' op slice_sizes must be in [0, size of the operand], got -1 for dimension 0 of operand shape [3, 8]}}
  %0 = stablehlo.dynamic_slice %m, %i, %i, sizes = [-1, 4] : (tensor<3x8xf32>, tensor<i64>, tensor<i64>) -> tensor<?x4xf32>
  return
}

// -----

// dynamic_slice_c5
func.func @dynamic_slice_c5(%m: tensor<3x8xf32>, %i: tensor<i64>) {
  // expected-error@below {{'stablehlo.dynamic_slice' op result must have the shape given by slice_sizes, [1, 4], got [1, 5]}}
  %0 = stablehlo.dynamic_slice %m, %i, %i, sizes = [1, 4] : (tensor<3x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x5xf32>
  return
}

// -----

// dynamic_slice_i2
func.func @dynamic_slice_i2(%m: tensor<3x8xf32>, %i: tensor<1xi64>) {
  // expected-error@below {{'stablehlo.dynamic_slice' op operand #1 must be variadic of 0D tensor of 2/4/8/16/32/64-bit integer values, but got 'tensor<1xi64>'}}
  %0 = stablehlo.dynamic_slice %m, %i, %i, sizes = [1, 4] : (tensor<3x8xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4xf32>
  return
}

// -----

// dynamic_update_slice_c1
func.func @dynamic_update_slice_c1(%m: tensor<3x8xf32>, %u: tensor<1x4xf32>, %i: tensor<i64>) {
  // expected-error@below {{'stablehlo.dynamic_update_slice' op result must have the type of the operand, 'tensor<3x8xf32>', got 'tensor<3x9xf32>'}}
  %0 = stablehlo.dynamic_update_slice %m, %u, %i, %i : (tensor<3x8xf32>, tensor<1x4xf32>, tensor<i64>, tensor<i64>) -> tensor<3x9xf32>
  return
}

// -----

// dynamic_update_slice_c2
func.func @dynamic_update_slice_c2(%m: tensor<3x8xf32>, %u: tensor<1x4xf64>, %i: tensor<i64>) {
  // expected-error@below {{'stablehlo.dynamic_update_slice' op update must have the element type of the operand, 'f32', got 'f64'}}
  %0 = stablehlo.dynamic_update_slice %m, %u, %i, %i : (tensor<3x8xf32>, tensor<1x4xf64>, tensor<i64>, tensor<i64>) -> tensor<3x8xf32>
  return
}

// -----

// dynamic_update_slice_c3
func.func @dynamic_update_slice_c3(%m: tensor<3x8xf32>, %u: tensor<4xf32>, %i: tensor<i64>) {
  // expected-error@below {{'stablehlo.dynamic_update_slice' op update must have the rank of the operand, 2, got 1}}
  %0 = stablehlo.dynamic_update_slice %m, %u, %i, %i : (tensor<3x8xf32>, tensor<4xf32>, tensor<i64>, tensor<i64>) -> tensor<3x8xf32>
  return
}

// -----

// dynamic_update_slice_c4
func.func @dynamic_update_slice_c4(%m: tensor<3x8xf32>, %u: tensor<1x4xf32>, %i: tensor<i64>) {
  // expected-error@below {{'stablehlo.dynamic_update_slice' op start_indices must have one entry for each dimension of the operand, got 1 for 2}}
  %0 = stablehlo.dynamic_update_slice %m, %u, %i : (tensor<3x8xf32>, tensor<1x4xf32>, tensor<i64>) -> tensor<3x8xf32>
  return
}

// -----

// dynamic_update_slice_c5
func.func @dynamic_update_slice_c5(%m: tensor<3x8xf32>, %u: tensor<1x4xf32>, %i: tensor<i64>, %j: tensor<i32>) {
  // expected-error@below {{'stablehlo.dynamic_update_slice' op start_indices must all have the same type, got 'tensor<i64>' and 'tensor<i32>'}}
  %0 = stablehlo.dynamic_update_slice %m, %u, %i, %j : (tensor<3x8xf32>, tensor<1x4xf32>, tensor<i64>, tensor<i32>) -> tensor<3x8xf32>
  return
}

// -----

// dynamic_update_slice_c6
func.func @dynamic_update_slice_c6(%m: tensor<3x8xf32>, %u: tensor<1x9xf32>, %i: tensor<i64>) {
  // expected-error@below {{'stablehlo.dynamic_update_slice' op update must fit into the operand of shape [3, 8], got size 9 in dimension 1}}
  %0 = stablehlo.dynamic_update_slice %m, %u, %i, %i : (tensor<3x8xf32>, tensor<1x9xf32>, tensor<i64>, tensor<i64>) -> tensor<3x8xf32>
  return
}

// -----

// get_dimension_size_c1
func.func @get_dimension_size_c1(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.get_dimension_size' op dimension must be a dimension of the operand, in [0, 2), got 2}}
  %0 = stablehlo.get_dimension_size %m, dim = 2 : (tensor<3x8xf32>) -> tensor<i32>
  return
}

// -----

// get_dimension_size_c1
func.func @get_dimension_size_c1_2(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.get_dimension_size' op dimension must be a dimension of the operand, in [0, 2), got -1}}
  %0 = stablehlo.get_dimension_size %m, dim = -1 : (tensor<3x8xf32>) -> tensor<i32>
  return
}

// -----

// get_dimension_size_o1
func.func @get_dimension_size_o1(%m: tensor<3x8xf32>) {
  // expected-error@below {{'stablehlo.get_dimension_size' op result #0 must be 0D tensor of 32-bit signless integer values, but got 'tensor<i64>'}}
  %0 = stablehlo.get_dimension_size %m, dim = 1 : (tensor<3x8xf32>) -> tensor<i64>
  return
}

// -----

// set_dimension_size
func.func @set_dimension_size(%m: tensor<3x8xf32>, %n: tensor<i32>) {
  // expected-error@below {{'stablehlo.set_dimension_size' op dimension must be a dimension of the operand, in [0, 2), got 2}}
  %0 = stablehlo.set_dimension_size %m, %n, dim = 2 : (tensor<3x8xf32>, tensor<i32>) -> tensor<3x?xf32>
  return
}

// -----

// set_dimension_size
func.func @set_dimension_size_2(%m: tensor<3x8xf32>, %n: tensor<i32>) {
  // expected-error@below {{'stablehlo.set_dimension_size' op result must have the shape of the operand except in dimension 1, [3, ?], got [4, ?]}}
  %0 = stablehlo.set_dimension_size %m, %n, dim = 1 : (tensor<3x8xf32>, tensor<i32>) -> tensor<4x?xf32>
  return
}

// -----

// set_dimension_size
func.func @set_dimension_size_3(%m: tensor<3x8xf32>, %n: tensor<i32>) {
  // expected-error@below {{'stablehlo.set_dimension_size' op operand and result must have the same element type, got 'f32' and 'f64'}}
  %0 = stablehlo.set_dimension_size %m, %n, dim = 1 : (tensor<3x8xf32>, tensor<i32>) -> tensor<3x?xf64>
  return
}

// -----

// set_dimension_size
func.func @set_dimension_size_4(%m: tensor<3x8xf32>, %n: tensor<1xi32>) {
  // expected-error@below {{'stablehlo.set_dimension_size' op operand #1 must be 0D tensor of 32-bit signless integer values, but got 'tensor<1xi32>'}}
  %0 = stablehlo.set_dimension_size %m, %n, dim = 1 : (tensor<3x8xf32>, tensor<1xi32>) -> tensor<3x?xf32>
  return
}
