/// The logistic function.
// input: 3xcomplex<f32>=1+2i,-0.3+0.5i,0.25-1i
// result: 3xcomplex<f32>=1.0214154+0.40343872i,0.4208183+0.124660745i,0.58036196-0.2676919i
// within: 8 ulps
func.func @main(%a: tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
  %r = stablehlo.logistic %a : tensor<3xcomplex<f32>>
  return %r : tensor<3xcomplex<f32>>
}
