// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

/// Each case breaks one rule of broadcast, einsum or unary_einsum, which have no numbered constraints.

func.func @broadcast_negative(%a: tensor<3xf32>) {
  // expected-error@below {{'stablehlo.broadcast' op broadcast_sizes must not be negative, got -1}}
  %0 = "stablehlo.broadcast"(%a) <{broadcast_sizes = array<i64: -1>}> : (tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_shape(%a: tensor<3xf32>) {
  // expected-error@below {{'stablehlo.broadcast' op result must have broadcast_sizes followed by the operand's sizes, [2, 3], got 'tensor<3x2xf32>'}}
  %0 = "stablehlo.broadcast"(%a) <{broadcast_sizes = array<i64: 2>}> : (tensor<3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @broadcast_element(%a: tensor<3xf32>) {
  // expected-error@below {{'stablehlo.broadcast' op operand and result must have the same element type, got 'f32' and 'i32'}}
  %0 = "stablehlo.broadcast"(%a) <{broadcast_sizes = array<i64: 2>}> : (tensor<3xf32>) -> tensor<2x3xi32>
  return
}

// -----

func.func @einsum_no_arrow(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.einsum' op einsum_config must be 2 terms separated by commas, then '->' and the term of the result, got "ab,bc"}}
  %0 = "stablehlo.einsum"(%a, %b) <{einsum_config = "ab,bc"}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @einsum_terms(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.einsum' op einsum_config must be 2 terms separated by commas, then '->' and the term of the result, got "ab->ab"}}
  %0 = "stablehlo.einsum"(%a, %b) <{einsum_config = "ab->ab"}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @einsum_rank(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.einsum' op einsum_config must have one letter for each dimension of 'tensor<2x3xf32>', got "a"}}
  %0 = "stablehlo.einsum"(%a, %b) <{einsum_config = "a,bc->ac"}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @einsum_letter(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.einsum' op einsum_config must consist of letters, got '?'}}
  %0 = "stablehlo.einsum"(%a, %b) <{einsum_config = "a?,bc->ac"}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @einsum_sizes(%a: tensor<2x3xf32>, %b: tensor<5x4xf32>) {
  // expected-error@below {{'stablehlo.einsum' op einsum letter 'b' must have the same size in all operands, got 3 and 5}}
  %0 = "stablehlo.einsum"(%a, %b) <{einsum_config = "ab,bc->ac"}> : (tensor<2x3xf32>, tensor<5x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @einsum_result_letter(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.einsum' op each letter of the result in einsum_config must occur once in the result and at least once in an operand, got 'd'}}
  %0 = "stablehlo.einsum"(%a, %b) <{einsum_config = "ab,bc->ad"}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @einsum_result_twice(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.einsum' op each letter of the result in einsum_config must occur once in the result and at least once in an operand, got 'a'}}
  %0 = "stablehlo.einsum"(%a, %b) <{einsum_config = "ab,bc->aa"}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @einsum_result_shape(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.einsum' op result must have the shape that einsum_config specifies, [2, 4], got 'tensor<4x2xf32>'}}
  %0 = "stablehlo.einsum"(%a, %b) <{einsum_config = "ab,bc->ac"}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @unary_einsum_terms(%a: tensor<2x3xf32>) {
  // expected-error@below {{'stablehlo.unary_einsum' op einsum_config must be 1 terms separated by commas, then '->' and the term of the result, got "ab,c->a"}}
  %0 = "stablehlo.unary_einsum"(%a) <{einsum_config = "ab,c->a"}> : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @unary_einsum_shape(%a: tensor<2x3xf32>) {
  // expected-error@below {{'stablehlo.unary_einsum' op result must have the shape that einsum_config specifies, [3], got 'tensor<2xf32>'}}
  %0 = "stablehlo.unary_einsum"(%a) <{einsum_config = "ab->b"}> : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}
