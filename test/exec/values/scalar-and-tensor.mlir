/// A scalar result beside a tensor result.
// input: 3xf32=1,2,4
// result: f32=7
// result: 3xf32=6,5,3
func.func @main(%a: tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  %0 = stablehlo.broadcast_in_dim %r0, dims = [] : (tensor<f32>) -> tensor<3xf32>
  %r1 = stablehlo.subtract %0, %a : tensor<3xf32>
  return %r0, %r1 : tensor<f32>, tensor<3xf32>
}
