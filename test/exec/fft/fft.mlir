/// A transform of eight complex numbers.
// input: 8xcomplex<f32>=1+0i,2+0i,3+0i,4+0i,0+0i,-1+0i,0+2i,1-1i
// result: 8xcomplex<f32>=10+1i,-0.29289323-7.9497476i,-1+2i,3.7071068-0.5355339i,-2+3i,-1.7071068+1.9497474i,-3-6i,2.2928932+6.535534i
// within: 8 ulps
func.func @main(%a: tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> {
  %r = stablehlo.fft %a, type = FFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return %r : tensor<8xcomplex<f32>>
}
