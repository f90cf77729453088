/// Shifts of bytes see 8 bits, not those of the register.
// input: 8xi8=1,1,-128,127,-128,7,-7,1
// input: 8xi8=7,8,1,4,-1,0,2,9
// result: 8xi8=-128,0,0,-16,0,7,-28,0
func.func @main(%a: tensor<8xi8>, %b: tensor<8xi8>) -> tensor<8xi8> {
  %r = stablehlo.shift_left %a, %b : tensor<8xi8>
  return %r : tensor<8xi8>
}
