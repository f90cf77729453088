/// A float seen as two halves, the low one first.
// input: 2xf32=1,-2
// result: 2x2xui16=0,16256,0,49152
func.func @main(%a: tensor<2xf32>) -> tensor<2x2xui16> {
  %r = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2x2xui16>
  return %r : tensor<2x2xui16>
}
