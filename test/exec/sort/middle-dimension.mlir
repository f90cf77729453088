/// Rows before and after the sorted dimension.
// input: 2x3x2xi32=5,1,4,2,6,0,9,8,7,11,8,10
// result: 2x3x2xi32=4,0,5,1,6,2,7,8,8,10,9,11
func.func @main(%a: tensor<2x3x2xi32>) -> tensor<2x3x2xi32> {
  %r = "stablehlo.sort"(%a) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.compare LT, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<2x3x2xi32>) -> tensor<2x3x2xi32>
  return %r : tensor<2x3x2xi32>
}
