/// A maximum with a NaN anywhere is NaN.
// input: 3x3xf32=nan,1,2,1,nan,2,1,2,3
// result: 3xf32=nan,nan,3
func.func @main(%a: tensor<3x3xf32>) -> tensor<3xf32> {
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [1] : (tensor<3x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
