/// A running product along the first dimension.
// input: 3x2xi32=1,2,3,4,5,-6
// result: 3x2xi32=1,2,3,8,15,-48
func.func @main(%a: tensor<3x2xi32>) -> tensor<3x2xi32> {
  %z = stablehlo.constant dense<1> : tensor<i32>
  %r = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 3, 1>, padding = dense<[[2, 0], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.multiply %x, %y : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<3x2xi32>, tensor<i32>) -> tensor<3x2xi32>
  return %r : tensor<3x2xi32>
}
