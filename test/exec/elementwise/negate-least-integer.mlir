/// The least byte negated is itself.
// input: 4xi8=-128,127,-1,0
// result: 4xi8=-128,-127,1,0
func.func @main(%a: tensor<4xi8>) -> tensor<4xi8> {
  %r = stablehlo.negate %a : tensor<4xi8>
  return %r : tensor<4xi8>
}
