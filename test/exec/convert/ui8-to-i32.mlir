/// An unsigned byte is extended with zeros.
// input: 3xui8=255,127,128
// result: 3xi32=255,127,128
func.func @main(%a: tensor<3xui8>) -> tensor<3xi32> {
  %r = stablehlo.convert %a : (tensor<3xui8>) -> tensor<3xi32>
  return %r : tensor<3xi32>
}
