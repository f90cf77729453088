/// Shifting by the width or more gives zero; a negative count is a large one.
// input: 6xi32=1,1,-1,3,3,7
// input: 6xi32=31,32,33,0,-1,2147483647
// result: 6xi32=-2147483648,0,0,3,0,0
func.func @main(%a: tensor<6xi32>, %b: tensor<6xi32>) -> tensor<6xi32> {
  %r = stablehlo.shift_left %a, %b : tensor<6xi32>
  return %r : tensor<6xi32>
}
