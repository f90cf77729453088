// RUN: tilewright-opt %s --simplify --split-input-file --verify-diagnostics | FileCheck %s

/// control_dep asks for an order and computes nothing; also of the future of a collective.

// CHECK-LABEL: func @order
//   CHECK-NOT:   control_dep
//       CHECK:   stablehlo.all_gather
//       CHECK:   return
func.func @order(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = "stablehlo.async_start"(%x) ({
  ^bb0(%piece: tensor<4x4xf32>):
    %2 = "stablehlo.all_gather"(%piece) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    stablehlo.return %2 : tensor<4x4xf32>
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<4x4xf32>>
  %1 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<4x4xf32>>) -> tensor<4x4xf32>
  stablehlo.custom_call @control_dep(%0, %1) {has_side_effect = true} : (!stablehlo.future<tensor<4x4xf32>>, tensor<4x4xf32>) -> ()
  return %1 : tensor<4x4xf32>
}

// -----

/// Another call has no use for a future.

func.func @negative_future(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = "stablehlo.async_start"(%x) ({
  ^bb0(%piece: tensor<4x4xf32>):
    %2 = "stablehlo.all_gather"(%piece) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    stablehlo.return %2 : tensor<4x4xf32>
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<4x4xf32>>
  %1 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<4x4xf32>>) -> tensor<4x4xf32>
  // expected-error@below {{takes the future of an asynchronous op, which only stablehlo.async_done may}}
  stablehlo.custom_call @look(%0) {has_side_effect = true} : (!stablehlo.future<tensor<4x4xf32>>) -> ()
  return %1 : tensor<4x4xf32>
}
