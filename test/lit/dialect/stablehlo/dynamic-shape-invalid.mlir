// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

/// Each case breaks one constraint of an op whose shape is a run-time value.

// dynamic_broadcast_in_dim_c1
func.func @dynamic_broadcast_in_dim_c1(%a: tensor<3xf32>, %b: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_broadcast_in_dim' op operand and result must have the same element type, got 'f32' and 'f64'}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %b) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x3xf64>
  return
}

// -----

// dynamic_broadcast_in_dim_c2
func.func @dynamic_broadcast_in_dim_c2(%a: tensor<3xf32>, %b: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_broadcast_in_dim' op broadcast_dimensions must have one entry for each dimension of the operand, got 2 for 1}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %b) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  return
}

// -----

// dynamic_broadcast_in_dim_c3
func.func @dynamic_broadcast_in_dim_c3(%a: tensor<3xf32>, %b: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_broadcast_in_dim' op broadcast_dimensions must be dimensions of the result, in [0, 2), got 2}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %b) <{broadcast_dimensions = array<i64: 2>}> : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  return
}

// -----

// dynamic_broadcast_in_dim_c4
func.func @dynamic_broadcast_in_dim_c4(%a: tensor<3x3xf32>, %b: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_broadcast_in_dim' op broadcast_dimensions must be unique, got 1 twice}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %b) <{broadcast_dimensions = array<i64: 1, 1>}> : (tensor<3x3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  return
}

// -----

// dynamic_broadcast_in_dim_c5
func.func @dynamic_broadcast_in_dim_c5(%a: tensor<3xf32>, %b: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_broadcast_in_dim' op dimension 0 of the operand must have size 1 or the size of dimension 1 of the result, got 3 and 4}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %b) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  return
}

// -----

// dynamic_broadcast_in_dim_c6
func.func @dynamic_broadcast_in_dim_c6(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_broadcast_in_dim' op result must be quantized along dimension 1, to which the operand's quantized dimension 0 is broadcast, got dimension 0}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %b) <{broadcast_dimensions = array<i64: 1>}> : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2xi64>) -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}

// -----

// dynamic_broadcast_in_dim_c6
func.func @dynamic_broadcast_in_dim_c6_2(%a: tensor<1x!quant.uniform<i8:f32:0, {0.5}>>, %b: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_broadcast_in_dim' op result must repeat the operand's single scale and zero point along the expanded dimension}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %b) <{broadcast_dimensions = array<i64: 1>}> : (tensor<1x!quant.uniform<i8:f32:0, {0.5}>>, tensor<2xi64>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  return
}

// -----

// dynamic_broadcast_in_dim_c7
func.func @dynamic_broadcast_in_dim_c7(%a: tensor<3xf32>, %b: tensor<3xi64>) {
  // expected-error@below {{'stablehlo.dynamic_broadcast_in_dim' op output_dimensions must have one entry for each dimension of the result, got 3 for 2}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %b) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>, tensor<3xi64>) -> tensor<?x3xf32>
  return
}

// -----

// dynamic_broadcast_in_dim_c8
func.func @dynamic_broadcast_in_dim_c8(%a: tensor<3xf32>, %b: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_broadcast_in_dim' op known_expanding_dimensions and known_nonexpanding_dimensions must be unique, got 0 twice}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %b) <{broadcast_dimensions = array<i64: 1>, known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 0>}> : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  return
}

// -----

// dynamic_broadcast_in_dim_c9
func.func @dynamic_broadcast_in_dim_c9(%a: tensor<3xf32>, %b: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_broadcast_in_dim' op known_expanding_dimensions must be dimensions of the operand, in [0, 1), got 1}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %b) <{broadcast_dimensions = array<i64: 1>, known_expanding_dimensions = array<i64: 1>}> : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  return
}

// -----

// dynamic_broadcast_in_dim_c10
func.func @dynamic_broadcast_in_dim_c10(%a: tensor<3xf32>, %b: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_broadcast_in_dim' op known_nonexpanding_dimensions must be dimensions of the operand, in [0, 1), got -1}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %b) <{broadcast_dimensions = array<i64: 1>, known_nonexpanding_dimensions = array<i64: -1>}> : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  return
}

// -----

// dynamic_iota_c1
func.func @dynamic_iota_c1(%a: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_iota' op iota_dimension must be an index of output_shape, in [0, 2), got 2}}
  %0 = "stablehlo.dynamic_iota"(%a) <{iota_dimension = 2 : i64}> : (tensor<2xi64>) -> tensor<?x4xi32>
  return
}

// -----

// dynamic_iota_c1
func.func @dynamic_iota_c1_2(%a: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_iota' op iota_dimension must be an index of output_shape, in [0, 2), got -1}}
  %0 = "stablehlo.dynamic_iota"(%a) <{iota_dimension = -1 : i64}> : (tensor<2xi64>) -> tensor<?x4xi32>
  return
}

// -----

// dynamic_iota_c2
func.func @dynamic_iota_c2(%a: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_iota' op output_shape must have one entry for each dimension of the result, got 2 for 3}}
  %0 = "stablehlo.dynamic_iota"(%a) <{iota_dimension = 0 : i64}> : (tensor<2xi64>) -> tensor<?x4x5xi32>
  return
}

// -----

// dynamic_pad_c1
func.func @dynamic_pad_c1(%a: tensor<3xf32>, %b: tensor<f64>, %c: tensor<1xi64>, %d: tensor<1xi64>, %e: tensor<1xi64>) {
  // expected-error@below {{'stablehlo.dynamic_pad' op operand, padding value and result must have the same element type, got 'f32', 'f64' and 'f32'}}
  %0 = "stablehlo.dynamic_pad"(%a, %b, %c, %d, %e) : (tensor<3xf32>, tensor<f64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

// dynamic_pad_c1
func.func @dynamic_pad_c1_2(%a: tensor<3xf32>, %b: tensor<f32>, %c: tensor<1xi64>, %d: tensor<1xi64>, %e: tensor<1xi64>) {
  // expected-error@below {{'stablehlo.dynamic_pad' op operand, padding value and result must have the same element type, got 'f32', 'f32' and 'i32'}}
  %0 = "stablehlo.dynamic_pad"(%a, %b, %c, %d, %e) : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi32>
  return
}

// -----

// dynamic_pad_c2
func.func @dynamic_pad_c2(%a: tensor<3xf32>, %b: tensor<f32>, %c: tensor<2xi64>, %d: tensor<1xi64>, %e: tensor<1xi64>) {
  // expected-error@below {{'stablehlo.dynamic_pad' op edge_padding_low must have one entry for each dimension of the operand, got 2 for 1}}
  %0 = "stablehlo.dynamic_pad"(%a, %b, %c, %d, %e) : (tensor<3xf32>, tensor<f32>, tensor<2xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

// dynamic_pad_c2
func.func @dynamic_pad_c2_2(%a: tensor<3xf32>, %b: tensor<f32>, %c: tensor<1xi64>, %d: tensor<2xi64>, %e: tensor<1xi64>) {
  // expected-error@below {{'stablehlo.dynamic_pad' op edge_padding_high must have one entry for each dimension of the operand, got 2 for 1}}
  %0 = "stablehlo.dynamic_pad"(%a, %b, %c, %d, %e) : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<2xi64>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

// dynamic_pad_c2
func.func @dynamic_pad_c2_3(%a: tensor<3xf32>, %b: tensor<f32>, %c: tensor<1xi64>, %d: tensor<1xi64>, %e: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_pad' op interior_padding must have one entry for each dimension of the operand, got 2 for 1}}
  %0 = "stablehlo.dynamic_pad"(%a, %b, %c, %d, %e) : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<2xi64>) -> tensor<?xf32>
  return
}

// -----

// dynamic_pad_c4
func.func @dynamic_pad_c4(%a: tensor<3xf32>, %b: tensor<f32>, %c: tensor<1xi64>, %d: tensor<1xi64>, %e: tensor<1xi64>) {
  // expected-error@below {{'stablehlo.dynamic_pad' op operand and result must have the same rank, got 'tensor<3xf32>' and 'tensor<?x?xf32>'}}
  %0 = "stablehlo.dynamic_pad"(%a, %b, %c, %d, %e) : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  return
}

// -----

// dynamic_reshape_c1
func.func @dynamic_reshape_c1(%a: tensor<?xf32>, %b: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_reshape' op operand and result must have the same element type, got 'f32' and 'i32'}}
  %0 = "stablehlo.dynamic_reshape"(%a, %b) : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xi32>
  return
}

// -----

// dynamic_reshape_c2
func.func @dynamic_reshape_c2(%a: tensor<6xf32>, %b: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_reshape' op operand and result must have the same number of elements, got 'tensor<6xf32>' and 'tensor<2x4xf32>'}}
  %0 = "stablehlo.dynamic_reshape"(%a, %b) : (tensor<6xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return
}

// -----

/// A count that overflows is equal to no other.
// dynamic_reshape_c2
func.func @dynamic_reshape_c2_2(%a: tensor<4294967296x4294967296xf32>, %b: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_reshape' op operand and result must have the same number of elements, got 'tensor<4294967296x4294967296xf32>' and 'tensor<1x1xf32>'}}
  %0 = "stablehlo.dynamic_reshape"(%a, %b) : (tensor<4294967296x4294967296xf32>, tensor<2xi64>) -> tensor<1x1xf32>
  return
}

// -----

// dynamic_reshape_c3
func.func @dynamic_reshape_c3(%a: tensor<2x6x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_reshape' op the quantized dimension and the number of elements before and after it must stay the same}}
  %0 = "stablehlo.dynamic_reshape"(%a, %b) : (tensor<2x6x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2xi64>) -> tensor<6x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  return
}

// -----

// dynamic_reshape_c4
func.func @dynamic_reshape_c4(%a: tensor<?xf32>, %b: tensor<3xi64>) {
  // expected-error@below {{'stablehlo.dynamic_reshape' op output_shape must have one entry for each dimension of the result, got 3 for 2}}
  %0 = "stablehlo.dynamic_reshape"(%a, %b) : (tensor<?xf32>, tensor<3xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @real_dynamic_slice_start(%a: tensor<?xf32>, %b: tensor<2xi64>, %c: tensor<1xi64>, %d: tensor<1xi64>) {
  // expected-error@below {{'stablehlo.real_dynamic_slice' op start_indices must have one entry for each dimension of the operand, got 2 for 1}}
  %0 = "stablehlo.real_dynamic_slice"(%a, %b, %c, %d) : (tensor<?xf32>, tensor<2xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @real_dynamic_slice_strides(%a: tensor<?xf32>, %b: tensor<1xi64>, %c: tensor<1xi64>, %d: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.real_dynamic_slice' op strides must have one entry for each dimension of the operand, got 2 for 1}}
  %0 = "stablehlo.real_dynamic_slice"(%a, %b, %c, %d) : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<2xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @real_dynamic_slice_rank(%a: tensor<?xf32>, %b: tensor<1xi64>, %c: tensor<1xi64>, %d: tensor<1xi64>) {
  // expected-error@below {{'stablehlo.real_dynamic_slice' op operand and result must have the same rank, got 'tensor<?xf32>' and 'tensor<?x?xf32>'}}
  %0 = "stablehlo.real_dynamic_slice"(%a, %b, %c, %d) : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @real_dynamic_slice_element(%a: tensor<?xf32>, %b: tensor<1xi64>, %c: tensor<1xi64>, %d: tensor<1xi64>) {
  // expected-error@below {{'stablehlo.real_dynamic_slice' op operand and result must have the same element type, got 'f32' and 'f64'}}
  %0 = "stablehlo.real_dynamic_slice"(%a, %b, %c, %d) : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf64>
  return
}
