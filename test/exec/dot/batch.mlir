/// A batch of products.
// input: 2x3x4xf32=-1,-2,4,2,2,4,-4,2,1,2,1,2,2,3,-1,-2,0,1,-1,3,2,3,1,4
// input: 2x4x2xf32=-1,4,2,-4,-2,-1,2,0,-1,4,4,-1,-2,-2,-2,-4
// result: 2x3x2xf32=-7,0,18,-4,5,-5,16,15,0,-11,0,-13
func.func @main(%a: tensor<2x3x4xf32>, %b: tensor<2x4x2xf32>) -> tensor<2x3x2xf32> {
  %r = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x4xf32>, tensor<2x4x2xf32>) -> tensor<2x3x2xf32>
  return %r : tensor<2x3x2xf32>
}
