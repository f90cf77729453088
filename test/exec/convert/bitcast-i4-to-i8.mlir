/// Two 4-bit integers seen as a byte.
// input: 3x2xi4=2,1,0,-8,-1,7
// result: 3xi8=18,-128,127
func.func @main(%a: tensor<3x2xi4>) -> tensor<3xi8> {
  %r = stablehlo.bitcast_convert %a : (tensor<3x2xi4>) -> tensor<3xi8>
  return %r : tensor<3xi8>
}
