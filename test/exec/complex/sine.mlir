/// Sines.
// input: 4xcomplex<f32>=1+2i,-3+0.5i,0-1i,2+0i
// result: 4xcomplex<f32>=3.1657784+1.959601i,-0.15913059-0.51588047i,0-1.1752012i,0.9092974-0.0i
// within: 8 ulps
func.func @main(%a: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %r = stablehlo.sine %a : tensor<4xcomplex<f32>>
  return %r : tensor<4xcomplex<f32>>
}
