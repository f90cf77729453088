/// Nothing to sort.
// input: 0xi32=
// result: 0xi32=
func.func @main(%a: tensor<0xi32>) -> tensor<0xi32> {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.compare LT, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<0xi32>) -> tensor<0xi32>
  return %r : tensor<0xi32>
}
