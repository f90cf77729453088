// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

/// Each case breaks one constraint of an elementwise op of two or three tensors.

// subtract_c1
func.func @subtract_c1(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.subtract' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.subtract %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

// subtract_c1
func.func @subtract_c1_2(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.subtract' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.subtract %x, %z : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

// multiply_c1
func.func @multiply_c1(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.multiply' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.multiply %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

// multiply_c1
func.func @multiply_c1_2(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.multiply' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.multiply %x, %z : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

// divide_c1
func.func @divide_c1(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.divide' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.divide %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

// divide_c1
func.func @divide_c1_2(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.divide' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.divide %x, %z : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

// remainder_c1
func.func @remainder_c1(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.remainder' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.remainder %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

// remainder_c1
func.func @remainder_c1_2(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.remainder' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.remainder %x, %z : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

// power_c1
func.func @power_c1(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.power' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.power %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

// power_c1
func.func @power_c1_2(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.power' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.power %x, %z : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

// maximum_c1
func.func @maximum_c1(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.maximum' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.maximum %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

// maximum_c1
func.func @maximum_c1_2(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.maximum' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.maximum %x, %z : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

// minimum_c1
func.func @minimum_c1(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.minimum' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.minimum %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

// minimum_c1
func.func @minimum_c1_2(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.minimum' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.minimum %x, %z : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

// atan2_c1
func.func @atan2_c1(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.atan2' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.atan2 %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

// atan2_c1
func.func @atan2_c1_2(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.atan2' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.atan2 %x, %z : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

// and_c1
func.func @and_c1(%x: tensor<4xi32>, %y: tensor<4x4xi32>, %z: tensor<4xi64>) {
  // expected-error@below {{'stablehlo.and' op operands and results must have the same shape, got 'tensor<4xi32>' and 'tensor<4x4xi32>'}}
  %0 = stablehlo.and %x, %y : (tensor<4xi32>, tensor<4x4xi32>) -> tensor<4xi32>
  return
}

// -----

// and_c1
func.func @and_c1_2(%x: tensor<4xi32>, %y: tensor<4x4xi32>, %z: tensor<4xi64>) {
  // expected-error@below {{'stablehlo.and' op operands and results must have the same element type, got 'tensor<4xi32>' and 'tensor<4xi64>'}}
  %0 = stablehlo.and %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi64>
  return
}

// -----

// or_c1
func.func @or_c1(%x: tensor<4xi32>, %y: tensor<4x4xi32>, %z: tensor<4xi64>) {
  // expected-error@below {{'stablehlo.or' op operands and results must have the same shape, got 'tensor<4xi32>' and 'tensor<4x4xi32>'}}
  %0 = stablehlo.or %x, %y : (tensor<4xi32>, tensor<4x4xi32>) -> tensor<4xi32>
  return
}

// -----

// or_c1
func.func @or_c1_2(%x: tensor<4xi32>, %y: tensor<4x4xi32>, %z: tensor<4xi64>) {
  // expected-error@below {{'stablehlo.or' op operands and results must have the same element type, got 'tensor<4xi32>' and 'tensor<4xi64>'}}
  %0 = stablehlo.or %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi64>
  return
}

// -----

// xor_c1
func.func @xor_c1(%x: tensor<4xi32>, %y: tensor<4x4xi32>, %z: tensor<4xi64>) {
  // expected-error@below {{'stablehlo.xor' op operands and results must have the same shape, got 'tensor<4xi32>' and 'tensor<4x4xi32>'}}
  %0 = stablehlo.xor %x, %y : (tensor<4xi32>, tensor<4x4xi32>) -> tensor<4xi32>
  return
}

// -----

// xor_c1
func.func @xor_c1_2(%x: tensor<4xi32>, %y: tensor<4x4xi32>, %z: tensor<4xi64>) {
  // expected-error@below {{'stablehlo.xor' op operands and results must have the same element type, got 'tensor<4xi32>' and 'tensor<4xi64>'}}
  %0 = stablehlo.xor %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi64>
  return
}

// -----

// shift_left_c1
func.func @shift_left_c1(%x: tensor<4xi32>, %y: tensor<4x4xi32>, %z: tensor<4xi64>) {
  // expected-error@below {{'stablehlo.shift_left' op operands and results must have the same shape, got 'tensor<4xi32>' and 'tensor<4x4xi32>'}}
  %0 = stablehlo.shift_left %x, %y : (tensor<4xi32>, tensor<4x4xi32>) -> tensor<4xi32>
  return
}

// -----

// shift_left_c1
func.func @shift_left_c1_2(%x: tensor<4xi32>, %y: tensor<4x4xi32>, %z: tensor<4xi64>) {
  // expected-error@below {{'stablehlo.shift_left' op operands and results must have the same element type, got 'tensor<4xi32>' and 'tensor<4xi64>'}}
  %0 = stablehlo.shift_left %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi64>
  return
}

// -----

// shift_right_arithmetic_c1
func.func @shift_right_arithmetic_c1(%x: tensor<4xi32>, %y: tensor<4x4xi32>, %z: tensor<4xi64>) {
  // expected-error@below {{'stablehlo.shift_right_arithmetic' op operands and results must have the same shape, got 'tensor<4xi32>' and 'tensor<4x4xi32>'}}
  %0 = stablehlo.shift_right_arithmetic %x, %y : (tensor<4xi32>, tensor<4x4xi32>) -> tensor<4xi32>
  return
}

// -----

// shift_right_arithmetic_c1
func.func @shift_right_arithmetic_c1_2(%x: tensor<4xi32>, %y: tensor<4x4xi32>, %z: tensor<4xi64>) {
  // expected-error@below {{'stablehlo.shift_right_arithmetic' op operands and results must have the same element type, got 'tensor<4xi32>' and 'tensor<4xi64>'}}
  %0 = stablehlo.shift_right_arithmetic %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi64>
  return
}

// -----

// shift_right_logical_c1
func.func @shift_right_logical_c1(%x: tensor<4xi32>, %y: tensor<4x4xi32>, %z: tensor<4xi64>) {
  // expected-error@below {{'stablehlo.shift_right_logical' op operands and results must have the same shape, got 'tensor<4xi32>' and 'tensor<4x4xi32>'}}
  %0 = stablehlo.shift_right_logical %x, %y : (tensor<4xi32>, tensor<4x4xi32>) -> tensor<4xi32>
  return
}

// -----

// shift_right_logical_c1
func.func @shift_right_logical_c1_2(%x: tensor<4xi32>, %y: tensor<4x4xi32>, %z: tensor<4xi64>) {
  // expected-error@below {{'stablehlo.shift_right_logical' op operands and results must have the same element type, got 'tensor<4xi32>' and 'tensor<4xi64>'}}
  %0 = stablehlo.shift_right_logical %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi64>
  return
}

// -----

// add_c1
func.func @add_c1(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.add' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.add %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

// add_c1
func.func @add_c1_2(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.add' op operands and result must have the same element type, got 'f32', 'f64' and 'f32'}}
  %0 = stablehlo.add %x, %z : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

// add_c2
func.func @add_c2(%x: tensor<2x4x!quant.uniform<i8:f32, 1.0>>, %y: tensor<2x4xf32>) {
  // expected-error@below {{'stablehlo.add' op either all operands and the result must be quantized, or none of them, got '!quant.uniform<i8:f32, 1.000000e+00>', 'f32' and '!quant.uniform<i8:f32, 1.000000e+00>'}}
  %0 = stablehlo.add %x, %y : (tensor<2x4x!quant.uniform<i8:f32, 1.0>>, tensor<2x4xf32>) -> tensor<2x4x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

// add_c3
func.func @add_c3(%x: tensor<2x4x!quant.uniform<i8:f32, 1.0>>, %y: tensor<2x4x!quant.uniform<i16:f32, 1.0>>) {
  // expected-error@below {{'stablehlo.add' op operands and result must have the same storage type, got '!quant.uniform<i8:f32, 1.000000e+00>', '!quant.uniform<i16:f32, 1.000000e+00>' and '!quant.uniform<i8:f32, 1.000000e+00>'}}
  %0 = stablehlo.add %x, %y : (tensor<2x4x!quant.uniform<i8:f32, 1.0>>, tensor<2x4x!quant.uniform<i16:f32, 1.0>>) -> tensor<2x4x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

// add_c4
func.func @add_c4(%x: tensor<2x4x!quant.uniform<i8:f32, 1.0>>, %y: tensor<2x4x!quant.uniform<i8:f64, 1.0>>) {
  // expected-error@below {{'stablehlo.add' op operands and result must have the same expressed type, got '!quant.uniform<i8:f32, 1.000000e+00>', '!quant.uniform<i8:f64, 1.000000e+00>' and '!quant.uniform<i8:f32, 1.000000e+00>'}}
  %0 = stablehlo.add %x, %y : (tensor<2x4x!quant.uniform<i8:f32, 1.0>>, tensor<2x4x!quant.uniform<i8:f64, 1.0>>) -> tensor<2x4x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

// add_c5
func.func @add_c5(%x: tensor<2x4x!quant.uniform<i8:f32, 1.0>>, %y: tensor<2x4x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@below {{'stablehlo.add' op result must be quantized per axis if and only if an operand is, got '!quant.uniform<i8:f32, 1.000000e+00>', '!quant.uniform<i8:f32, 1.000000e+00>' and '!quant.uniform<i8:f32:0, {1.000000e+00,2.000000e+00}>'}}
  %0 = stablehlo.add %x, %y : (tensor<2x4x!quant.uniform<i8:f32, 1.0>>, tensor<2x4x!quant.uniform<i8:f32, 1.0>>) -> tensor<2x4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>
  return
}

// -----

// add_c5
func.func @add_c5_2(%x: tensor<2x4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>, %y: tensor<2x4x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@below {{'stablehlo.add' op result must be quantized per axis if and only if an operand is, got '!quant.uniform<i8:f32:0, {1.000000e+00,2.000000e+00}>', '!quant.uniform<i8:f32, 1.000000e+00>' and '!quant.uniform<i8:f32, 1.000000e+00>'}}
  %0 = stablehlo.add %x, %y : (tensor<2x4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>, tensor<2x4x!quant.uniform<i8:f32, 1.0>>) -> tensor<2x4x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

// add_c6
func.func @add_c6(%x: tensor<2x4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>, %y: tensor<2x4x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@below {{'stablehlo.add' op lhs and result must be quantized along the same dimension, got '!quant.uniform<i8:f32:0, {1.000000e+00,2.000000e+00}>', '!quant.uniform<i8:f32, 1.000000e+00>' and '!quant.uniform<i8:f32:1, {1.000000e+00,2.000000e+00,3.000000e+00,4.000000e+00}>'}}
  %0 = stablehlo.add %x, %y : (tensor<2x4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>, tensor<2x4x!quant.uniform<i8:f32, 1.0>>) -> tensor<2x4x!quant.uniform<i8:f32:1, {1.0, 2.0, 3.0, 4.0}>>
  return
}

// -----

// add_c7
func.func @add_c7(%x: tensor<2x4x!quant.uniform<i8:f32, 1.0>>, %y: tensor<2x4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) {
  // expected-error@below {{'stablehlo.add' op rhs and result must be quantized along the same dimension, got '!quant.uniform<i8:f32, 1.000000e+00>', '!quant.uniform<i8:f32:0, {1.000000e+00,2.000000e+00}>' and '!quant.uniform<i8:f32:1, {1.000000e+00,2.000000e+00,3.000000e+00,4.000000e+00}>'}}
  %0 = stablehlo.add %x, %y : (tensor<2x4x!quant.uniform<i8:f32, 1.0>>, tensor<2x4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) -> tensor<2x4x!quant.uniform<i8:f32:1, {1.0, 2.0, 3.0, 4.0}>>
  return
}

// -----

// and_i1
func.func @and_i1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.and' op operand #0 must be ranked tensor of bool or 2/4/8/16/32/64-bit integer values, but got 'tensor<4xf32>'}}
  %0 = stablehlo.and %x, %x : tensor<4xf32>
  return
}

// -----

// atan2_i1
func.func @atan2_i1(%x: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.atan2' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor quantized integer (zero point in its range) values, but got 'tensor<4xi32>'}}
  %0 = stablehlo.atan2 %x, %x : tensor<4xi32>
  return
}

// -----

// shift_left_i1
func.func @shift_left_i1(%x: tensor<4xi1>) {
  // expected-error@below {{'stablehlo.shift_left' op operand #0 must be ranked tensor of 2/4/8/16/32/64-bit integer values, but got 'tensor<4xi1>'}}
  %0 = stablehlo.shift_left %x, %x : tensor<4xi1>
  return
}

// -----

// divide_i1
func.func @divide_i1(%x: tensor<4xi1>) {
  // expected-error@below {{'stablehlo.divide' op operand #0 must be ranked tensor of 2/4/8/16/32/64-bit integer or 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor quantized integer (zero point in its range) values, but got 'tensor<4xi1>'}}
  %0 = stablehlo.divide %x, %x : tensor<4xi1>
  return
}

// -----

// compare_c1
func.func @compare_c1(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.compare' op lhs and rhs must have the same element type, got 'f32' and 'f64'}}
  %0 = stablehlo.compare LT, %x, %z : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xi1>
  return
}

// -----

// compare_c2
func.func @compare_c2(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.compare' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.compare LT, %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xi1>
  return
}

// -----

// compare_c2
func.func @compare_c2_2(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.compare' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xi1>'}}
  %0 = stablehlo.compare LT, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<5xi1>
  return
}

// -----

// compare_c3
func.func @compare_c3(%x: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.compare' op compare_type must match the element type 'i32', got UNSIGNED}}
  // expected-note@below {{omit compare_type to derive it from the element type}}
  %0 = stablehlo.compare LT, %x, %x, UNSIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return
}

// -----

// compare_c3
func.func @compare_c3_2(%x: tensor<4xui32>) {
  // expected-error@below {{'stablehlo.compare' op compare_type must match the element type 'ui32', got SIGNED}}
  // expected-note@below {{omit compare_type to derive it from the element type}}
  %0 = stablehlo.compare LT, %x, %x, SIGNED : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xi1>
  return
}

// -----

// compare_c3
func.func @compare_c3_3(%x: tensor<4xi1>) {
  // expected-error@below {{'stablehlo.compare' op compare_type must match the element type 'i1', got SIGNED}}
  // expected-note@below {{omit compare_type to derive it from the element type}}
  %0 = stablehlo.compare LT, %x, %x, SIGNED : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return
}

// -----

// compare_c3
func.func @compare_c3_4(%x: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.compare' op compare_type must match the element type 'i32', got TOTALORDER}}
  // expected-note@below {{omit compare_type to derive it from the element type}}
  %0 = stablehlo.compare LT, %x, %x, TOTALORDER : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return
}

// -----

// compare_c3
func.func @compare_c3_5(%x: tensor<4xcomplex<f32>>) {
  // expected-error@below {{'stablehlo.compare' op compare_type must match the element type 'complex<f32>', got TOTALORDER}}
  // expected-note@below {{omit compare_type to derive it from the element type}}
  %0 = stablehlo.compare EQ, %x, %x, TOTALORDER : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xi1>
  return
}

// -----

// complex_c1
func.func @complex_c1(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.complex' op lhs and rhs must have the same element type, got 'f32' and 'f64'}}
  %0 = stablehlo.complex %x, %z : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xcomplex<f32>>
  return
}

// -----

// complex_c1
func.func @complex_c1_2(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.complex' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.complex %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xcomplex<f32>>
  return
}

// -----

// complex_c2
func.func @complex_c2(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.complex' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xcomplex<f32>>'}}
  %0 = stablehlo.complex %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<5xcomplex<f32>>
  return
}

// -----

// complex_c3
func.func @complex_c3(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.complex' op components of the result must have the operands' element type, 'f32', got 'complex<f64>'}}
  %0 = stablehlo.complex %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f64>>
  return
}

// -----

// complex_i1
func.func @complex_i1(%x: tensor<4xf16>) {
  // expected-error@below {{'stablehlo.complex' op operand #0 must be ranked tensor of 32/64-bit float values, but got 'tensor<4xf16>'}}
  %0 = stablehlo.complex %x, %x : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xcomplex<f32>>
  return
}

// -----

// select_c1
func.func @select_c1(%p: tensor<5xi1>, %x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.select' op pred must be a scalar or have the shape of on_true, [4], got [5]}}
  %0 = stablehlo.select %p, %x, %x : tensor<5xi1>, tensor<4xf32>
  return
}

// -----

// select_c1
func.func @select_c1_2(%p: tensor<1xi1>, %x: tensor<f32>) {
  // expected-error@below {{'stablehlo.select' op pred must be a scalar or have the shape of on_true, [], got [1]}}
  %0 = stablehlo.select %p, %x, %x : tensor<1xi1>, tensor<f32>
  return
}

// -----

// select_c2
func.func @select_c2(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error@below {{'stablehlo.select' op on_false must have the type of on_true, 'tensor<4xf32>', got 'tensor<5xf32>'}}
  %0 = stablehlo.select %p, %x, %y : (tensor<i1>, tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

// select_c2
func.func @select_c2_2(%p: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.select' op result must have the type of on_true, 'tensor<4xf32>', got 'tensor<4xf64>'}}
  %0 = stablehlo.select %p, %x, %x : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// clamp_c1
func.func @clamp_c1(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.clamp' op min must be a scalar or have the shape of the operand, [4], got [5]}}
  %0 = stablehlo.clamp %y, %x, %x : (tensor<5xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// clamp_c2
func.func @clamp_c2(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.clamp' op max must be a scalar or have the shape of the operand, [4], got [5]}}
  %0 = stablehlo.clamp %x, %x, %y : (tensor<4xf32>, tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

// clamp_c3
func.func @clamp_c3(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.clamp' op operands and results must have the same element type, got 'tensor<4xf64>' and 'tensor<4xf32>'}}
  %0 = stablehlo.clamp %z, %x, %x : (tensor<4xf64>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// clamp_c4
func.func @clamp_c4(%x: tensor<4xf32>, %y: tensor<5xf32>, %z: tensor<4xf64>) {
  // expected-error@below {{'stablehlo.clamp' op result must have the shape of the operand, [4], got [5]}}
  %0 = stablehlo.clamp %x, %x, %x : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<5xf32>
  return
}
