/// Batch dimensions that are not the first ones come first in the result.
// input: 3x2x4xf32=-1,-2,4,2,2,3,-1,-2,2,4,-4,2,0,1,-1,3,1,2,1,2,2,3,1,4
// input: 4x2x2xf32=-1,-1,4,4,2,4,-4,-1,-2,-2,-1,-2,2,-2,0,-4
// result: 2x3x2xf32=-7,0,18,-4,5,-5,16,15,0,-11,0,-13
func.func @main(%a: tensor<3x2x4xf32>, %b: tensor<4x2x2xf32>) -> tensor<2x3x2xf32> {
  %r = stablehlo.dot_general %a, %b, batching_dims = [1] x [2], contracting_dims = [2] x [0] : (tensor<3x2x4xf32>, tensor<4x2x2xf32>) -> tensor<2x3x2xf32>
  return %r : tensor<2x3x2xf32>
}
