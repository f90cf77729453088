/// Clamping by scalars and with NaN, where the upper bound wins over the lower one.
// input: f32=-1
// input: 6xf32=-5,0.5,7,nan,inf,-inf
// input: f32=2
// result: 6xf32=-1,0.5,2,nan,2,-1
func.func @main(%a: tensor<f32>, %b: tensor<6xf32>, %c: tensor<f32>) -> tensor<6xf32> {
  %r = stablehlo.clamp %a, %b, %c : (tensor<f32>, tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}
