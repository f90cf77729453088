/// Each column by itself.
// input: 4x2xi32=4,5,3,8,2,6,1,7
// result: 4x2xi32=1,5,2,6,3,7,4,8
func.func @main(%a: tensor<4x2xi32>) -> tensor<4x2xi32> {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.compare LT, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<4x2xi32>) -> tensor<4x2xi32>
  return %r : tensor<4x2xi32>
}
