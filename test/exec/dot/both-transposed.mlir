/// Contraction of the first dimension on the left and the last on the right.
// input: 4x3xf32=0,-4,-2,0,-3,-2,2,3,3,4,4,-1
// input: 5x4xf32=-2,0,3,3,3,-4,0,-3,-2,-4,3,-2,-1,3,-2,-3,1,2,0,0
// result: 3x5xf32=18,-12,-2,-16,0,29,-12,21,-23,-10,10,5,23,-7,-6
func.func @main(%a: tensor<4x3xf32>, %b: tensor<5x4xf32>) -> tensor<3x5xf32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [0] x [1] : (tensor<4x3xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}
