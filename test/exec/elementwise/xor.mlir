/// A bitwise exclusive or.
// input: 3xui64=18446744073709551615,1,0
// input: 3xui64=1,1,9223372036854775808
// result: 3xui64=18446744073709551614,0,9223372036854775808
func.func @main(%a: tensor<3xui64>, %b: tensor<3xui64>) -> tensor<3xui64> {
  %r = stablehlo.xor %a, %b : tensor<3xui64>
  return %r : tensor<3xui64>
}
