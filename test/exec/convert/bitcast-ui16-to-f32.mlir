/// Two halves seen as a float.
// input: 2x2xui16=0,16256,0,49152
// result: 2xf32=1,-2
func.func @main(%a: tensor<2x2xui16>) -> tensor<2xf32> {
  %r = stablehlo.bitcast_convert %a : (tensor<2x2xui16>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
