/// Unsigned division of 64 bits above the sign.
// input: 4xui64=18446744073709551615,9223372036854775808,7,5
// input: 4xui64=2,9223372036854775809,0,5
// result: 4xui64=9223372036854775807,0,18446744073709551615,1
func.func @main(%a: tensor<4xui64>, %b: tensor<4xui64>) -> tensor<4xui64> {
  %r = stablehlo.divide %a, %b : tensor<4xui64>
  return %r : tensor<4xui64>
}
