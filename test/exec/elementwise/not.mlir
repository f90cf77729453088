/// The complement of integers.
// input: 4xui8=0,255,170,1
// result: 4xui8=255,0,85,254
func.func @main(%a: tensor<4xui8>) -> tensor<4xui8> {
  %r = stablehlo.not %a : tensor<4xui8>
  return %r : tensor<4xui8>
}
