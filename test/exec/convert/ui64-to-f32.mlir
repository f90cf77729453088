/// 64 unsigned bits to f32 are rounded once.
// input: 4xui64=18446744073709551615,9223372036854775809,16777217,9223373136366403585
// result: 4xf32=18446744073709551616,9223372036854775808,16777216,9223373136366403584
func.func @main(%a: tensor<4xui64>) -> tensor<4xf32> {
  %r = stablehlo.convert %a : (tensor<4xui64>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
