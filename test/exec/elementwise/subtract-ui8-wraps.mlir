/// Unsigned subtraction wraps around at zero.
// input: 4xui8=0,5,255,128
// input: 4xui8=1,7,255,129
// result: 4xui8=255,254,0,255
func.func @main(%a: tensor<4xui8>, %b: tensor<4xui8>) -> tensor<4xui8> {
  %r = stablehlo.subtract %a, %b : tensor<4xui8>
  return %r : tensor<4xui8>
}
