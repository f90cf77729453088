/// An unsigned remainder by zero is the dividend.
// input: 4xui8=255,200,7,0
// input: 4xui8=0,7,255,0
// result: 4xui8=255,4,7,0
func.func @main(%a: tensor<4xui8>, %b: tensor<4xui8>) -> tensor<4xui8> {
  %r = stablehlo.remainder %a, %b : tensor<4xui8>
  return %r : tensor<4xui8>
}
