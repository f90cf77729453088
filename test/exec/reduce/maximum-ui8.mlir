/// Unsigned maxima compare the top bit as a number.
// input: 2x3xui8=1,255,127,128,127,0
// result: 2xui8=255,128
func.func @main(%a: tensor<2x3xui8>) -> tensor<2xui8> {
  %z = stablehlo.constant dense<0> : tensor<ui8>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3xui8>, tensor<ui8>) -> tensor<2xui8>
  return %r : tensor<2xui8>
}
