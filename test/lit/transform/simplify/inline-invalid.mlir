// RUN: tilewright-opt %s --simplify-inline='max-ops=4' --verify-diagnostics --split-input-file

/// Each function calls the next one twice: 2^2 copies of the last.
// expected-error@+1 {{E2001 simplify: '@main' has 5 operations once its calls are inlined, but the limit is 4; raise simplify.max-ops}}
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @a(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @a(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @a(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @b(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @b(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @b(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{calls '@main' recursively}}
  %0 = call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
