/// A dimension of size one disappears.
// input: 3x1xf32=1,2,3
// result: 3xf32=1,2,3
func.func @main(%a: tensor<3x1xf32>) -> tensor<3xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<3x1xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
