/// A reduction of a tensor without elements may have none either.
// input: 0x3xf32=
// result: 0xf32=
func.func @main(%a: tensor<0x3xf32>) -> tensor<0xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<0x3xf32>, tensor<f32>) -> tensor<0xf32>
  return %r : tensor<0xf32>
}
