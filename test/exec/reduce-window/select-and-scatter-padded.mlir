/// The gradient of a 3x3 max-pool with stride 2 and padding 1: windows overlap, and some are cut off.
// input: 7x7xf32=0,11,5,16,10,4,15,9,3,14,8,2,13,7,1,12,6,0,11,5,16,10,4,15,9,3,14,8,2,13,7,1,12,6,0,11,5,16,10,4,15,9,3,14,8,2,13,7,1
// input: 4x4xf32=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16
// result: 7x7xf32=0,1,0,5,0,0,4,0,0,0,0,0,0,0,0,5,0,0,0,0,8,0,0,6,0,0,7,0,0,9,0,0,0,0,0,0,0,24,0,0,54,0,0,13,0,0,0,0,0
func.func @main(%a: tensor<7x7xf32>, %b: tensor<4x4xf32>) -> tensor<7x7xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.select_and_scatter"(%a, %b, %zero) <{window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 2, 2>, padding = dense<[[1, 1], [1, 1]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %0 = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %0 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<7x7xf32>, tensor<4x4xf32>, tensor<f32>) -> tensor<7x7xf32>
  return %r : tensor<7x7xf32>
}
