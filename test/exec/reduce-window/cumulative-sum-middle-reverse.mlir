/// A running sum from the end of the middle dimension.
// input: 2x3x2xf64=1,2,3,4,5,6,-1,0.5,0,0,0.25,8
// result: 2x3x2xf64=9,12,8,10,5,6,-0.75,8.5,0.25,8,0.25,8
func.func @main(%a: tensor<2x3x2xf64>) -> tensor<2x3x2xf64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %r = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 3, 1>, padding = dense<[[0, 0], [0, 2], [0, 0]]> : tensor<3x2xi64>}> ({
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    %0 = stablehlo.add %x, %y : tensor<f64>
    stablehlo.return %0 : tensor<f64>
  }) : (tensor<2x3x2xf64>, tensor<f64>) -> tensor<2x3x2xf64>
  return %r : tensor<2x3x2xf64>
}
