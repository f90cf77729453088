/// Division of bytes by zero and by -1.
// input: 4xi8=-128,7,-7,-128
// input: 4xi8=-1,0,2,0
// result: 4xi8=-128,-1,-3,-1
func.func @main(%a: tensor<4xi8>, %b: tensor<4xi8>) -> tensor<4xi8> {
  %r = stablehlo.divide %a, %b : tensor<4xi8>
  return %r : tensor<4xi8>
}
