/// A maximum of 2x2 windows with stride 2.
// input: 4x4xf32=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16
// result: 2x2xf32=6,8,14,16
func.func @main(%a: tensor<4x4xf32>) -> tensor<2x2xf32> {
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %0 = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<f32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}
