/// Integer addition wraps around.
// input: 4xi8=127,-128,100,-1
// input: 4xi8=1,-1,100,1
// result: 4xi8=-128,127,-56,0
func.func @main(%a: tensor<4xi8>, %b: tensor<4xi8>) -> tensor<4xi8> {
  %r = stablehlo.add %a, %b : tensor<4xi8>
  return %r : tensor<4xi8>
}
