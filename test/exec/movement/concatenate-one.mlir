/// A concatenation of one operand is a copy.
// input: 2xi8=1,-1
// result: 2xi8=1,-1
func.func @main(%a: tensor<2xi8>) -> tensor<2xi8> {
  %r = stablehlo.concatenate %a, dim = 0 : (tensor<2xi8>) -> tensor<2xi8>
  return %r : tensor<2xi8>
}
