/// The maximum of nothing is minus infinity.
// input: 0x3xf32=
// result: 3xf32=-inf
func.func @main(%a: tensor<0x3xf32>) -> tensor<3xf32> {
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
