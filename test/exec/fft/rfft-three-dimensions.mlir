/// A real transform of three dimensions.
// input: 2x3x4xf32=0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1
// result: 2x3x3xcomplex<f32>=1+0i,0+1i,-1+0i,-0.5+0.8660254i,-0.8660254-0.5i,0.5-0.8660254i,-0.5-0.8660254i,0.8660254-0.5i,0.5+0.8660254i,-1+0i,0-1i,1+0i,0.5-0.8660254i,0.8660254+0.5i,-0.5+0.8660254i,0.5+0.8660254i,-0.8660254+0.5i,-0.5-0.8660254i
// within: 16 ulps
func.func @main(%a: tensor<2x3x4xf32>) -> tensor<2x3x3xcomplex<f32>> {
  %r = stablehlo.fft %a, type = RFFT, length = [2, 3, 4] : (tensor<2x3x4xf32>) -> tensor<2x3x3xcomplex<f32>>
  return %r : tensor<2x3x3xcomplex<f32>>
}
