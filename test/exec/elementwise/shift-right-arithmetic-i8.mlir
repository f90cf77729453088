/// An arithmetic shift of bytes by the width or more leaves only the sign.
// input: 8xi8=-128,-128,-128,127,127,-1,64,-2
// input: 8xi8=7,8,-1,7,8,-128,6,1
// result: 8xi8=-1,-1,-1,0,0,-1,1,-1
func.func @main(%a: tensor<8xi8>, %b: tensor<8xi8>) -> tensor<8xi8> {
  %r = stablehlo.shift_right_arithmetic %a, %b : tensor<8xi8>
  return %r : tensor<8xi8>
}
