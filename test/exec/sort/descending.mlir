/// Integers in descending order.
// input: 6xi32=3,-1,2147483647,0,-2147483648,3
// result: 6xi32=2147483647,3,3,0,-1,-2147483648
func.func @main(%a: tensor<6xi32>) -> tensor<6xi32> {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.compare GT, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<6xi32>) -> tensor<6xi32>
  return %r : tensor<6xi32>
}
