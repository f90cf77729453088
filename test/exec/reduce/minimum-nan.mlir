/// A minimum with a NaN anywhere is NaN.
// input: 3x3xf32=1,2,nan,1,inf,2,nan,nan,nan
// result: 3xf32=nan,1,nan
func.func @main(%a: tensor<3x3xf32>) -> tensor<3xf32> {
  %z = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.minimum across dimensions = [1] : (tensor<3x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
