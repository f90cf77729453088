/// A narrower integer keeps the low bits.
// input: 4xi32=128,-129,256,511
// result: 4xi8=-128,127,0,-1
func.func @main(%a: tensor<4xi32>) -> tensor<4xi8> {
  %r = stablehlo.convert %a : (tensor<4xi32>) -> tensor<4xi8>
  return %r : tensor<4xi8>
}
