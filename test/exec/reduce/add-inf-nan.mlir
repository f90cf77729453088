/// Infinities of both signs sum to NaN.
// input: 3x2xf32=inf,1,inf,-inf,nan,2
// result: 3xf32=inf,nan,nan
func.func @main(%a: tensor<3x2xf32>) -> tensor<3xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
