/// A matrix times a vector.
// input: 2x3xf32=1,2,3,4,5,6
// input: 3xf32=1,0,-1
// result: 2xf32=-2
func.func @main(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
