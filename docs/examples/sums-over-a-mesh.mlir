/// Four ranks as data x model. Eight layers sum along `model`; then steps go on until the error, summed
/// over all ranks, is small. docs/how-to/prove-communication.md proves that nobody waits for ever.

module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=2]>

  func.func @main(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model"}]>}) -> tensor<4xf32> {
    %r = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"data", "model"}]>] out_shardings=[<@mesh, [{}]>]
        manual_axes={"data", "model"} (%piece: tensor<4xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %eight = stablehlo.constant dense<8> : tensor<i32>
      %layers:2 = stablehlo.while(%i = %zero, %y = %piece) : tensor<i32>, tensor<4xf32>
      cond {
        %more = stablehlo.compare LT, %i, %eight : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %sum = "stablehlo.all_reduce"(%y) <{use_global_device_ids,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
          replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
        ^bb0(%p: tensor<f32>, %q: tensor<f32>):
          %s = stablehlo.add %p, %q : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }) : (tensor<4xf32>) -> tensor<4xf32>
        %next = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %next, %sum : tensor<i32>, tensor<4xf32>
      }
      %small = stablehlo.constant dense<1.0e-3> : tensor<f32>
      %half = stablehlo.constant dense<5.0e-1> : tensor<4xf32>
      %start = stablehlo.constant dense<1.0> : tensor<f32>
      %steps:2 = stablehlo.while(%error = %start, %y = %layers#1) : tensor<f32>, tensor<4xf32>
      cond {
        %more = stablehlo.compare GT, %error, %small : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %better = stablehlo.multiply %y, %half : tensor<4xf32>
        %none = stablehlo.constant dense<0.0> : tensor<f32>
        %mine = stablehlo.reduce(%better init: %none) applies stablehlo.maximum across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
        %error2 = "stablehlo.all_reduce"(%mine) <{use_global_device_ids,
          channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>,
          replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
        ^bb0(%p: tensor<f32>, %q: tensor<f32>):
          %s = stablehlo.maximum %p, %q : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }) : (tensor<f32>) -> tensor<f32>
        stablehlo.return %error2, %better : tensor<f32>, tensor<4xf32>
      }
      sdy.return %steps#1 : tensor<4xf32>
    } : (tensor<16xf32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}
