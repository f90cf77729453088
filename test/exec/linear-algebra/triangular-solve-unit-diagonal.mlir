/// A unit diagonal is not read.
// input: 3x3xf32=55,77,77,1,55,77,-1,2,55
// input: 3x2xf32=1,2,4,1,7,-4
// result: 3x2xf32=1,2,3,-1,2,0
func.func @main(%a: tensor<3x3xf32>, %b: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}
