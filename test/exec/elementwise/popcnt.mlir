/// Population counts of bytes, with the sign bit.
// input: 5xi8=0,-1,-128,85,1
// result: 5xi8=0,8,1,4,1
func.func @main(%a: tensor<5xi8>) -> tensor<5xi8> {
  %r = stablehlo.popcnt %a : tensor<5xi8>
  return %r : tensor<5xi8>
}
