/// Holes between elements count as the initial value.
// input: 3xi32=-1,-2,-3
// result: 4xi32=-1,-2,-2,-3
func.func @main(%a: tensor<3xi32>) -> tensor<4xi32> {
  %z = stablehlo.constant dense<-2147483648> : tensor<i32>
  %r = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 2>, base_dilations = array<i64: 2>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.maximum %x, %y : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<3xi32>, tensor<i32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}
