// RUN: tilewright-opt %s --verify-gpu-ops --verify-diagnostics

// What is no kernel cannot run on a GPU; views of memory, constants and control flow may stand beside launches.

func.func @main(%x: tensor<8xf32>) -> tensor<2x4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<8xf32>
  // expected-error@+2 {{E4070 target: 'stablehlo.sort' is not supported on the GPU yet}}
  // expected-note@+1 {{jax.device_put(x, jax.devices('cpu')[0])}}
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %l = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  // A composite and a custom call are named.
  // expected-error@+1 {{E4070 target: 'stablehlo.composite' "example.twice" is not supported on the GPU yet}}
  %t = stablehlo.composite "example.twice" %s {decomposition = @twice} : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error@+1 {{E4070 target: 'stablehlo.custom_call' @example_solve is not supported on the GPU yet}}
  %u = stablehlo.custom_call @example_solve(%t) : (tensor<8xf32>) -> tensor<8xf32>
  %r = stablehlo.reshape %u : (tensor<8xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
func.func private @twice(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = stablehlo.add %x, %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
