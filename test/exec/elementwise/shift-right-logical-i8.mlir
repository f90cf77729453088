/// A logical shift of a negative byte fills from bit 7.
// input: 4xi8=-1,-128,-128,64
// input: 4xi8=1,7,8,6
// result: 4xi8=127,1,0,1
func.func @main(%a: tensor<4xi8>, %b: tensor<4xi8>) -> tensor<4xi8> {
  %r = stablehlo.shift_right_logical %a, %b : tensor<4xi8>
  return %r : tensor<4xi8>
}
