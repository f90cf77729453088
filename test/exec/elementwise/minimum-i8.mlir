/// Signed minima.
// input: 3xi8=-128,127,0
// input: 3xi8=127,-1,-128
// result: 3xi8=-128,-1,-128
func.func @main(%a: tensor<3xi8>, %b: tensor<3xi8>) -> tensor<3xi8> {
  %r = stablehlo.minimum %a, %b : tensor<3xi8>
  return %r : tensor<3xi8>
}
