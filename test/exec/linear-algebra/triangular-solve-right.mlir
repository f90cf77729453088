/// From the right.
// input: 3x3xf32=2,77,77,1,3,77,-1,2,1
// input: 2x3xf32=3,13,2,3,-3,0
// result: 2x3xf32=1,3,2,2,-1,0
func.func @main(%a: tensor<3x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = false, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}
