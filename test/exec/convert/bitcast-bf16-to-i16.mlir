/// Bits of bf16.
// input: 3xbf16=1,-0.0,inf
// result: 3xi16=16256,-32768,32640
func.func @main(%a: tensor<3xbf16>) -> tensor<3xi16> {
  %r = stablehlo.bitcast_convert %a : (tensor<3xbf16>) -> tensor<3xi16>
  return %r : tensor<3xi16>
}
