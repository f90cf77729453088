/// Bits of an 8-bit float.
// input: 3xf8E4M3FN=1,-0.0,448
// result: 3xui8=56,128,126
func.func @main(%a: tensor<3xf8E4M3FN>) -> tensor<3xui8> {
  %r = stablehlo.bitcast_convert %a : (tensor<3xf8E4M3FN>) -> tensor<3xui8>
  return %r : tensor<3xui8>
}
