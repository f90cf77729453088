// RUN: tilewright-opt %s --lower-custom-calls --verify-gpu-ops --verify-diagnostics

// A call that stands for an op of another dialect has no handler.

func.func @main(%x: tensor<8xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
  // expected-error@+2 {{E4070 target: 'stablehlo.custom_call' @mhlo.topk is not supported on the GPU yet}}
  // expected-note@+1 {{jax.device_put(x, jax.devices('cpu')[0])}}
  %y:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 2 : i64, largest = true}} : (tensor<8xf32>) -> (tensor<2xf32>, tensor<2xi32>)
  return %y#0, %y#1 : tensor<2xf32>, tensor<2xi32>
}
