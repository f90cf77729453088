/// The inverse ignores the imaginary parts of the first and the last frequency.
// input: 3xcomplex<f32>=10+5i,-2+2i,-2+7i
// result: 4xf32=1,2,3,4
// within: 8 ulps
func.func @main(%a: tensor<3xcomplex<f32>>) -> tensor<4xf32> {
  %r = stablehlo.fft %a, type = IRFFT, length = [4] : (tensor<3xcomplex<f32>>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
