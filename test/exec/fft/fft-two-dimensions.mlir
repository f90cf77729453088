/// A transform of the last two of three dimensions.
// input: 1x2x2xcomplex<f32>=1+0i,2+0i,3+0i,4+1i
// result: 1x2x2xcomplex<f32>=10+1i,-2-1i,-4-1i,0+1i
// within: 8 ulps
func.func @main(%a: tensor<1x2x2xcomplex<f32>>) -> tensor<1x2x2xcomplex<f32>> {
  %r = stablehlo.fft %a, type = FFT, length = [2, 2] : (tensor<1x2x2xcomplex<f32>>) -> tensor<1x2x2xcomplex<f32>>
  return %r : tensor<1x2x2xcomplex<f32>>
}
