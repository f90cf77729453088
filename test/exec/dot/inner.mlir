/// An inner product of vectors is a scalar.
// input: 3xf32=1,2,3
// input: 3xf32=4,-5,6
// result: f32=12
func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<f32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  return %r : tensor<f32>
}
