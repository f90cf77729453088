/// A length that is not a power of two.
// input: 6xcomplex<f32>=1+0i,2+0i,3+0i,4+0i,0+0i,-1+0i
// result: 6xcomplex<f32>=9+0i,-4-5.196152i,3+0i,-1+0i,3+0i,-4+5.196152i
// within: 16 ulps
func.func @main(%a: tensor<6xcomplex<f32>>) -> tensor<6xcomplex<f32>> {
  %r = stablehlo.fft %a, type = FFT, length = [6] : (tensor<6xcomplex<f32>>) -> tensor<6xcomplex<f32>>
  return %r : tensor<6xcomplex<f32>>
}
