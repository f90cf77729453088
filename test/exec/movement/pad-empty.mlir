/// Padding of a tensor without elements.
// input: 0x2xf32=
// result: 2x2xf32=1.5
func.func @main(%a: tensor<0x2xf32>) -> tensor<2x2xf32> {
  %z = stablehlo.constant dense<1.5> : tensor<f32>
  %r = stablehlo.pad %a, %z, low = [1, 0], high = [1, 0], interior = [3, 0] : (tensor<0x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}
