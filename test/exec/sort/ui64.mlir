/// The largest number of 64 bits is not negative.
// input: 4xui64=18446744073709551615,0,9223372036854775808,1
// result: 4xui64=0,1,9223372036854775808,18446744073709551615
func.func @main(%a: tensor<4xui64>) -> tensor<4xui64> {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<ui64>, %y: tensor<ui64>):
    %0 = stablehlo.compare LT, %x, %y, UNSIGNED : (tensor<ui64>, tensor<ui64>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<4xui64>) -> tensor<4xui64>
  return %r : tensor<4xui64>
}
