/// A length that is not a power of two.
// input: 3xi32=2,3,1
// result: 3xi32=1,2,3
func.func @main(%a: tensor<3xi32>) -> tensor<3xi32> {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.compare LT, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<3xi32>) -> tensor<3xi32>
  return %r : tensor<3xi32>
}
