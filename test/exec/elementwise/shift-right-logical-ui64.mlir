/// Unsigned 64-bit integers, with counts above 32 bits.
// input: 4xui64=18446744073709551615,18446744073709551615,18446744073709551615,8
// input: 4xui64=63,64,4294967297,18446744073709551615
// result: 4xui64=1,0,0,0
func.func @main(%a: tensor<4xui64>, %b: tensor<4xui64>) -> tensor<4xui64> {
  %r = stablehlo.shift_right_logical %a, %b : tensor<4xui64>
  return %r : tensor<4xui64>
}
