/// A byte seen as two 4-bit integers, the low one first.
// input: 3xi8=18,-128,127
// result: 3x2xi4=2,1,0,-8,-1,7
func.func @main(%a: tensor<3xi8>) -> tensor<3x2xi4> {
  %r = stablehlo.bitcast_convert %a : (tensor<3xi8>) -> tensor<3x2xi4>
  return %r : tensor<3x2xi4>
}
