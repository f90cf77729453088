/// A tensor of one element becomes a scalar.
// input: 1x1xf32=7
// result: f32=7
func.func @main(%a: tensor<1x1xf32>) -> tensor<f32> {
  %r = stablehlo.reshape %a : (tensor<1x1xf32>) -> tensor<f32>
  return %r : tensor<f32>
}
