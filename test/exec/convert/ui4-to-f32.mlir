/// An unsigned 4-bit integer is extended with zeros.
// input: 4xui4=15,8,7,0
// result: 4xf32=15,8,7,0
func.func @main(%a: tensor<4xui4>) -> tensor<4xf32> {
  %r = stablehlo.convert %a : (tensor<4xui4>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
