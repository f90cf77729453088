// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

/// Each case breaks one constraint of dot_general, or a rule of dot, which the specification has dropped.

// dot_general_c1
func.func @dot_general_c1(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>) {
  // expected-error@below {{'stablehlo.dot_general' op operands must have the same number of batching dimensions, got 1 and 0}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [], contracting_dims = [2] x [1] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

// dot_general_c2
func.func @dot_general_c2(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@below {{'stablehlo.dot_general' op operands must have the same number of contracting dimensions, got 1 and 0}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

// dot_general_c3
func.func @dot_general_c3(%a: tensor<3x4xf32>, %b: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.dot_general' op batching and contracting dimensions of lhs must be unique, got 1 twice}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [1] x [0], contracting_dims = [1] x [1] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

// dot_general_c4
func.func @dot_general_c4(%a: tensor<3x4xf32>, %b: tensor<4x4xf32>) {
  // expected-error@below {{'stablehlo.dot_general' op batching and contracting dimensions of rhs must be unique, got 0 twice}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

// dot_general_c5
func.func @dot_general_c5(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@below {{'stablehlo.dot_general' op lhs_batching_dimensions must be dimensions of lhs, in [0, 2), got 2}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [2] x [0], contracting_dims = [1] x [1] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

// dot_general_c5
func.func @dot_general_c5_2(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@below {{'stablehlo.dot_general' op lhs_batching_dimensions must be dimensions of lhs, in [0, 2), got -1}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [-1] x [0], contracting_dims = [1] x [1] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

// dot_general_c6
func.func @dot_general_c6(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@below {{'stablehlo.dot_general' op lhs_contracting_dimensions must be dimensions of lhs, in [0, 2), got 2}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [2] x [0] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

// dot_general_c7
func.func @dot_general_c7(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@below {{'stablehlo.dot_general' op rhs_batching_dimensions must be dimensions of rhs, in [0, 2), got 2}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [2], contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

// dot_general_c8
func.func @dot_general_c8(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@below {{'stablehlo.dot_general' op rhs_contracting_dimensions must be dimensions of rhs, in [0, 2), got -1}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [-1] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

// dot_general_c9
func.func @dot_general_c9(%a: tensor<2x3x4xf32>, %b: tensor<3x4x5xf32>) {
  // expected-error@below {{'stablehlo.dot_general' op batches lhs dimension 0 with rhs dimension 0, which must be equal, got 2 and 3}}
  // expected-note@below {{broadcast the operand that has one batch}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x4xf32>, tensor<3x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

// dot_general_c10
func.func @dot_general_c10(%a: tensor<3x4xf32>, %b: tensor<5x4xf32>) {
  // expected-error@below {{'stablehlo.dot_general' op contracts lhs dimension 1 with rhs dimension 0, which must be equal, got 4 and 5}}
  // expected-note@below {{if rhs is stored as [n, k], contract its last dimension}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

// dot_general_c11
func.func @dot_general_c11(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@below {{'stablehlo.dot_general' op precision_config must have one entry for each of the 2 operands, got 1}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [DEFAULT] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

// dot_general_c12
func.func @dot_general_c12(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>) {
  // expected-error@below {{'stablehlo.dot_general' op result must have the batching dimensions, then the free dimensions of lhs, then those of rhs, [2, 3, 5], got [2, 5, 3]}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x5x3xf32>
  return
}

// -----

// dot_general_c13
func.func @dot_general_c13(%a: tensor<3x4xf32>, %b: tensor<4x5xi32>) {
  // expected-error@below {{'stablehlo.dot_general' op operands must be the same kind of number, got 'f32', 'i32' and 'f32'}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x5xi32>) -> tensor<3x5xf32>
  return
}

// -----

// dot_general_c14
func.func @dot_general_c14(%a: tensor<3x4x!quant.uniform<i8:f32, 1.0>>, %b: tensor<4x5xf32>) {
  // expected-error@below {{'stablehlo.dot_general' op rhs must be quantized, and lhs must be quantized if and only if the result is, got '!quant.uniform<i8:f32, 1.000000e+00>', 'f32' and '!quant.uniform<i8:f32, 1.000000e+00>'}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4x!quant.uniform<i8:f32, 1.0>>, tensor<4x5xf32>) -> tensor<3x5x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

// dot_general_c14
func.func @dot_general_c14_2(%a: tensor<3x4x!quant.uniform<i8:f32, 1.0>>, %b: tensor<4x5x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@below {{'stablehlo.dot_general' op rhs must be quantized, and lhs must be quantized if and only if the result is, got '!quant.uniform<i8:f32, 1.000000e+00>', '!quant.uniform<i8:f32, 1.000000e+00>' and 'f32'}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4x!quant.uniform<i8:f32, 1.0>>, tensor<4x5x!quant.uniform<i8:f32, 1.0>>) -> tensor<3x5xf32>
  return
}

// -----

// dot_general_c15
func.func @dot_general_c15(%a: tensor<3x4x!quant.uniform<i8:f32, 1.0>>, %b: tensor<4x5x!quant.uniform<i8:f32, 1.0:3>>) {
  // expected-error@below {{'stablehlo.dot_general' op zero points of rhs must be 0, got 3}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4x!quant.uniform<i8:f32, 1.0>>, tensor<4x5x!quant.uniform<i8:f32, 1.0:3>>) -> tensor<3x5x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

// dot_general_c16
func.func @dot_general_c16(%a: tensor<3x4x!quant.uniform<i8:f32, 1.0>>, %b: tensor<4x5x!quant.uniform<i8:f32:0, {1.0, 1.0, 1.0, 1.0}>>) {
  // expected-error@below {{'stablehlo.dot_general' op rhs must not be quantized along a contracting dimension, got 0}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4x!quant.uniform<i8:f32, 1.0>>, tensor<4x5x!quant.uniform<i8:f32:0, {1.0, 1.0, 1.0, 1.0}>>) -> tensor<3x5x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

// dot_general_c17
func.func @dot_general_c17(%a: tensor<3x4x!quant.uniform<i8:f32, 1.0>>, %b: tensor<4x5x!quant.uniform<i16:f32, 1.0>>) {
  // expected-error@below {{'stablehlo.dot_general' op lhs and rhs must have the same storage type, got '!quant.uniform<i8:f32, 1.000000e+00>', '!quant.uniform<i16:f32, 1.000000e+00>' and '!quant.uniform<i8:f32, 1.000000e+00>'}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4x!quant.uniform<i8:f32, 1.0>>, tensor<4x5x!quant.uniform<i16:f32, 1.0>>) -> tensor<3x5x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

// dot_general_c18
func.func @dot_general_c18(%a: tensor<3x4x!quant.uniform<i8:f32, 1.0>>, %b: tensor<4x5x!quant.uniform<i8:f64, 1.0>>) {
  // expected-error@below {{'stablehlo.dot_general' op operands and result must have the same expressed type, got '!quant.uniform<i8:f32, 1.000000e+00>', '!quant.uniform<i8:f64, 1.000000e+00>' and '!quant.uniform<i8:f32, 1.000000e+00>'}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4x!quant.uniform<i8:f32, 1.0>>, tensor<4x5x!quant.uniform<i8:f64, 1.0>>) -> tensor<3x5x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

// dot_general_c19
func.func @dot_general_c19(%a: tensor<3x4x!quant.uniform<i8:f32, 1.0>>, %b: tensor<4x5x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@below {{'stablehlo.dot_general' op result must be quantized per tensor if rhs is, got '!quant.uniform<i8:f32, 1.000000e+00>', '!quant.uniform<i8:f32, 1.000000e+00>' and '!quant.uniform<i8:f32:1, {1.000000e+00,1.000000e+00,1.000000e+00,1.000000e+00,1.000000e+00}>'}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4x!quant.uniform<i8:f32, 1.0>>, tensor<4x5x!quant.uniform<i8:f32, 1.0>>) -> tensor<3x5x!quant.uniform<i8:f32:1, {1.0, 1.0, 1.0, 1.0, 1.0}>>
  return
}

// -----

// dot_general_c20
func.func @dot_general_c20(%a: tensor<3x4xf64>, %b: tensor<4x5x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@below {{'stablehlo.dot_general' op lhs and result must have the expressed type of rhs, got 'f64', '!quant.uniform<i8:f32, 1.000000e+00>' and 'f64'}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4xf64>, tensor<4x5x!quant.uniform<i8:f32, 1.0>>) -> tensor<3x5xf64>
  return
}

// -----

// dot_general_c21
func.func @dot_general_c21(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@below {{'stablehlo.dot_general' op precision must be DEFAULT when an algorithm is specified, got HIGH}}
  // expected-note@below {{the algorithm determines the precision of the product}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [HIGH, DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

// dot_general_c22
func.func @dot_general_c22(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@below {{custom op 'stablehlo.dot_general' component and operation counts of a dot algorithm must be positive, got 0, 1 and 1}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 0, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

// dot_general_c23
func.func @dot_general_c23(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@below {{custom op 'stablehlo.dot_general' component and operation counts of a dot algorithm must be positive, got 1, 0 and 1}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 0, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

// dot_general_c24
func.func @dot_general_c24(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@below {{custom op 'stablehlo.dot_general' component and operation counts of a dot algorithm must be positive, got 1, 1 and 0}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 0, allow_imprecise_accumulation = false> : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

// dot
func.func @dot(%a: tensor<2x3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@below {{'stablehlo.dot' op lhs must be a vector or a matrix, got 'tensor<2x3x4xf32>'}}
  %0 = stablehlo.dot %a, %b : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

// dot
func.func @dot_2(%a: tensor<3x4xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.dot' op rhs must be a vector or a matrix, got 'tensor<f32>'}}
  %0 = stablehlo.dot %a, %b : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

// dot
func.func @dot_3(%a: tensor<3x4xf32>, %b: tensor<5x4xf32>) {
  // expected-error@below {{'stablehlo.dot' op contracts the last dimension of lhs with the first dimension of rhs, which must have the same size, got 4 and 5}}
  // expected-note@below {{if rhs is stored as [n, k], use dot_general}}
  %0 = stablehlo.dot %a, %b : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
  return
}

// -----

// dot
func.func @dot_4(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@below {{'stablehlo.dot' op result must have the dimensions that are not contracted, [3, 5], got [5, 3]}}
  %0 = stablehlo.dot %a, %b : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<5x3xf32>
  return
}

// -----

// dot
func.func @dot_5(%a: tensor<3x4xf32>, %b: tensor<4x5xi32>) {
  // expected-error@below {{'stablehlo.dot' op operands must be the same kind of number, got 'f32', 'i32' and 'f32'}}
  %0 = stablehlo.dot %a, %b : (tensor<3x4xf32>, tensor<4x5xi32>) -> tensor<3x5xf32>
  return
}

// -----

// dot
func.func @dot_6(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@below {{'stablehlo.dot' op precision_config must have one entry for each of the 2 operands, got 1}}
  %0 = stablehlo.dot %a, %b, precision = [HIGH] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}
