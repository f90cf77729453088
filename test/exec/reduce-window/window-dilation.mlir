/// A window with holes skips elements.
// input: 6xi32=1,2,3,4,5,6
// result: 2xi32=9,12
func.func @main(%a: tensor<6xi32>) -> tensor<2xi32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 3>, window_dilations = array<i64: 2>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<6xi32>, tensor<i32>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}
