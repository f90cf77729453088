/// A window that reaches to the last element of its row is a running maximum from there; NaN stays.
// input: 2x4xf32=1,nan,3,2,-inf,-1,-5,-2
// result: 2x4xf32=nan,nan,3,2,-1,-1,-2,-2
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 4>, padding = dense<[[0, 0], [0, 3]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %0 = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
