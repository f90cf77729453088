/// A transform of real numbers gives half of the frequencies and one more.
// input: 8xf32=1,2,3,4,0,-1,2,1
// result: 5xcomplex<f32>=12+0i,1-5.2426405i,-4+4i,1-3.2426407i,0+0i
// within: 8 ulps
func.func @main(%a: tensor<8xf32>) -> tensor<5xcomplex<f32>> {
  %r = stablehlo.fft %a, type = RFFT, length = [8] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
  return %r : tensor<5xcomplex<f32>>
}
