/// Arithmetic on scalars.
// input: f32=2
// input: f32=0.5
// result: f32=2
// within: 4 ulps
func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.power %a, %b : tensor<f32>
  %r = stablehlo.multiply %0, %0 : tensor<f32>
  return %r : tensor<f32>
}
