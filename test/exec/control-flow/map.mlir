/// A computation for each pair of elements.
// input: 3xi32=1,2,3
// input: 3xi32=10,20,30
// result: 3xi32=9,38,87
func.func @main(%a: tensor<3xi32>, %b: tensor<3xi32>) -> tensor<3xi32> {
  %r = "stablehlo.map"(%a, %b) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.multiply %x, %y : tensor<i32>
    %1 = stablehlo.subtract %0, %x : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  return %r : tensor<3xi32>
}
