// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

/// Each case breaks one constraint of constant, iota or a random number generator.

// constant_c1
func.func @constant_c1() {
  // expected-error@below {{'stablehlo.constant' op value must have the type of the output, 'tensor<4xi32>', got 'tensor<3xi32>'}}
  %0 = "stablehlo.constant"() <{value = dense<1> : tensor<3xi32>}> : () -> tensor<4xi32>
  return
}

// -----

// constant_c1
func.func @constant_c1_2() {
  // expected-error@below {{'stablehlo.constant' op value must have the type of the output, 'tensor<4xi64>', got 'tensor<4xi32>'}}
  %0 = "stablehlo.constant"() <{value = dense<1> : tensor<4xi32>}> : () -> tensor<4xi64>
  return
}

// -----

// constant_c1
func.func @constant_c1_3() {
  // expected-error@below {{'stablehlo.constant' op value must have the type of the output, 'tensor<4x!quant.uniform<i8:f32, 1.000000e+00>>', got 'tensor<4xi16>'}}
  %0 = "stablehlo.constant"() <{value = dense<1> : tensor<4xi16>}> : () -> tensor<4x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

// constant_c1
func.func @constant_c1_4() {
  // expected-error@below {{'stablehlo.constant' op value must have the type of the output, 'tensor<4xi32>', got 'vector<4xi32>'}}
  %0 = "stablehlo.constant"() <{value = dense<1> : vector<4xi32>}> : () -> tensor<4xi32>
  return
}

// -----

// constant_o1
func.func @constant_o1() {
  // expected-error@below {{'stablehlo.constant' op result #0 must be statically shaped tensor of bool or 2/4/8/16/32/64-bit integer or 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor quantized integer (zero point in its range) or per-axis quantized integer (one scale per slice) values, but got 'tensor<?xi32>'}}
  %0 = "stablehlo.constant"() <{value = dense<1> : tensor<4xi32>}> : () -> tensor<?xi32>
  return
}

// -----

// iota_c1
func.func @iota_c1() {
  // expected-error@below {{'stablehlo.iota' op iota_dimension must be a dimension of the output, in [0, 2), got 2}}
  %0 = stablehlo.iota dim = 2 : tensor<2x4xi32>
  return
}

// -----

// iota_c1
func.func @iota_c1_2() {
  // expected-error@below {{'stablehlo.iota' op iota_dimension must be a dimension of the output, in [0, 2), got -1}}
  %0 = stablehlo.iota dim = -1 : tensor<2x4xi32>
  return
}

// -----

// iota_c1
func.func @iota_c1_3() {
  // expected-error@below {{'stablehlo.iota' op iota_dimension must be a dimension of the output, in [0, 0), got 0}}
  %0 = stablehlo.iota dim = 0 : tensor<i32>
  return
}

// -----

// iota_o1
func.func @iota_o1() {
  // expected-error@below {{'stablehlo.iota' op result #0 must be statically shaped tensor of integer, float, complex or per-tensor quantized values, but got 'tensor<4xi1>'}}
  %0 = stablehlo.iota dim = 0 : tensor<4xi1>
  return
}

// -----

// iota_o1
func.func @iota_o1_2() {
  // expected-error@below {{'stablehlo.iota' op result #0 must be statically shaped tensor of integer, float, complex or per-tensor quantized values, but got 'tensor<?xi32>'}}
  %0 = stablehlo.iota dim = 0 : tensor<?xi32>
  return
}

// -----

// rng_c1
func.func @rng_c1(%a: tensor<f32>, %b: tensor<f64>, %s: tensor<1xi64>) {
  // expected-error@below {{'stablehlo.rng' op b must have the element type of the result, 'f32', got 'f64'}}
  %0 = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f64>, tensor<1xi64>) -> tensor<4xf32>
  return
}

// -----

// rng_c1
func.func @rng_c1_2(%a: tensor<f32>, %s: tensor<1xi64>) {
  // expected-error@below {{'stablehlo.rng' op a must have the element type of the result, 'f64', got 'f32'}}
  %0 = stablehlo.rng %a, %a, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf64>
  return
}

// -----

// rng_c2
func.func @rng_c2(%a: tensor<i32>, %s: tensor<1xi64>) {
  // expected-error@below {{'stablehlo.rng' op a normal distribution must have a float element type, got 'i32'}}
  %0 = stablehlo.rng %a, %a, %s, distribution = NORMAL : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<4xi32>
  return
}

// -----

// rng_c3
func.func @rng_c3(%a: tensor<f32>, %s: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.rng' op shape must have one entry for each dimension of the result, got 2 for 1}}
  %0 = stablehlo.rng %a, %a, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4xf32>
  return
}

// -----

// rng_c3
func.func @rng_c3_2(%a: tensor<f32>) {
  %s = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  // expected-error@below {{'stablehlo.rng' op size of result dimension 1 must match the operand 'shape', which specifies 3, got 4}}
  %0 = stablehlo.rng %a, %a, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<2x4xf32>
  return
}

// -----

// rng_i1
func.func @rng_i1(%a: tensor<4xf32>, %s: tensor<1xi64>) {
  // expected-error@below {{'stablehlo.rng' op operand #0 must be 0D tensor of bool or 2/4/8/16/32/64-bit integer or 4/6/8/16/32/64-bit float values, but got 'tensor<4xf32>'}}
  %0 = stablehlo.rng %a, %a, %s, distribution = UNIFORM : (tensor<4xf32>, tensor<4xf32>, tensor<1xi64>) -> tensor<4xf32>
  return
}

// -----

// rng_bit_generator_c1
func.func @rng_bit_generator_c1(%s: tensor<2xui64>) {
  // expected-error@below {{'stablehlo.rng_bit_generator' op output_state must have the type of initial_state, 'tensor<2xui64>', got 'tensor<3xui64>'}}
  %0:2 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  return
}

// -----

// rng_bit_generator_c2
func.func @rng_bit_generator_c2(%s: tensor<3xui64>) {
  // expected-error@below {{'stablehlo.rng_bit_generator' op initial_state must have 2 words for THREE_FRY, got 3}}
  %0:2 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  return
}

// -----

// rng_bit_generator_c2
func.func @rng_bit_generator_c2_2(%s: tensor<4xui64>) {
  // expected-error@below {{'stablehlo.rng_bit_generator' op initial_state must have 2 or 3 words for PHILOX, got 4}}
  %0:2 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<4xui64>) -> (tensor<4xui64>, tensor<4xui32>)
  return
}

// -----

// rng_bit_generator_o2
func.func @rng_bit_generator_o2(%s: tensor<2xui64>) {
  // expected-error@below {{'stablehlo.rng_bit_generator' op result #1 must be statically shaped tensor of integer or float values, but got 'tensor<?xui32>'}}
  %0:2 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<?xui32>)
  return
}
