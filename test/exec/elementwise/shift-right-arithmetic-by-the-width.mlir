/// An arithmetic shift by the width or more leaves only the sign.
// input: 6xi32=-8,-8,8,-2147483648,5,-1
// input: 6xi32=1,32,33,31,-1,2147483647
// result: 6xi32=-4,-1,0,-1,0,-1
func.func @main(%a: tensor<6xi32>, %b: tensor<6xi32>) -> tensor<6xi32> {
  %r = stablehlo.shift_right_arithmetic %a, %b : tensor<6xi32>
  return %r : tensor<6xi32>
}
