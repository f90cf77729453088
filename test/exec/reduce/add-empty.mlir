/// The sum of nothing is zero.
// input: 0x3xf32=
// result: 3xf32=0
func.func @main(%a: tensor<0x3xf32>) -> tensor<3xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
