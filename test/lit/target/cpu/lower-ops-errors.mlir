// RUN: tilewright-opt %s --cpu-lower-ops --split-input-file --verify-diagnostics

func.func @einsum(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>) -> tensor<4x3xf32> {
  // expected-error @+1 {{E4004 target: 'stablehlo.einsum' has no kernel in the CPU runtime's library}}
  %0 = stablehlo.einsum %a, %b, config = "ab,bc->ac" : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

func.func @ranks(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{E4004 target: 'stablehlo.collective_permute' refers to process 1, but the program has 1 replicas of 1 partitions}}
  %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}
      : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
