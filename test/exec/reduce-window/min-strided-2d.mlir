/// Minima of windows with different strides in the two dimensions.
// input: 3x5xi32=9,8,7,6,5,4,3,2,1,0,-1,-2,-3,-4,-5
// result: 2x2xi32=3,0,-2,-5
func.func @main(%a: tensor<3x5xi32>) -> tensor<2x2xi32> {
  %z = stablehlo.constant dense<2147483647> : tensor<i32>
  %r = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 3>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.minimum %x, %y : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<3x5xi32>, tensor<i32>) -> tensor<2x2xi32>
  return %r : tensor<2x2xi32>
}
