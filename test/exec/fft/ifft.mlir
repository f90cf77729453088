/// The inverse transform divides by the length.
// input: 8xcomplex<f32>=1+0i,2+0i,3+0i,4+0i,0+0i,-1+0i,0+2i,1-1i
// result: 8xcomplex<f32>=1.25+0.125i,0.28661165+0.81694174i,-0.375-0.75i,-0.21338835+0.24371843i,-0.25+0.375i,0.46338835-0.06694174i,-0.125+0.25i,-0.036611654-0.99371845i
// within: 8 ulps
func.func @main(%a: tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> {
  %r = stablehlo.fft %a, type = IFFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return %r : tensor<8xcomplex<f32>>
}
