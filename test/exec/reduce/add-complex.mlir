/// Sums of complex numbers.
// input: 2x2xcomplex<f32>=1+2i,3-4i,0.5+0i,0-1i
// result: 2xcomplex<f32>=4-2i,0.5-1i
func.func @main(%a: tensor<2x2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
  %z = stablehlo.constant dense<(0.0,0.0)> : tensor<complex<f32>>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x2xcomplex<f32>>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
  return %r : tensor<2xcomplex<f32>>
}
