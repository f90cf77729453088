/// Each row by itself.
// input: 2x4xi32=4,3,2,1,5,7,6,8
// result: 2x4xi32=1,2,3,4,5,6,7,8
func.func @main(%a: tensor<2x4xi32>) -> tensor<2x4xi32> {
  %r = "stablehlo.sort"(%a) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.compare LT, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<2x4xi32>) -> tensor<2x4xi32>
  return %r : tensor<2x4xi32>
}
