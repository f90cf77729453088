/// A scalar fills a tensor.
// input: f32=-0.0
// result: 2x2xf32=-0.0
func.func @main(%a: tensor<f32>) -> tensor<2x2xf32> {
  %r = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}
