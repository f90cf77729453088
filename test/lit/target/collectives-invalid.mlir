// RUN: tilewright-opt %s --lower-collectives --split-input-file --verify-diagnostics

module attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 2 : i32} {
func.func @last_of_all(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{E4070 target: 'stablehlo.all_reduce' combines elements with a function, but engines on devices know only single operations such as a sum}}
  %0 = "stablehlo.all_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
}
