/// Lower, from the left; the upper half is not read.
// input: 3x3xf32=2,77,77,1,3,77,-1,2,1
// input: 3x2xf32=2,4,10,-1,7,-4
// result: 3x2xf32=1,2,3,-1,2,0
func.func @main(%a: tensor<3x3xf32>, %b: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}
