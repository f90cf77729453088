/// A quotient of numbers whose squares overflow.
// input: 2xcomplex<f32>=1e30+1e30i,1e-30+0i
// input: 2xcomplex<f32>=1e30-1e30i,0+1e-30i
// result: 2xcomplex<f32>=0+1i,0-1i
// within: 4 ulps
func.func @main(%a: tensor<2xcomplex<f32>>, %b: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
  %r = stablehlo.divide %a, %b : tensor<2xcomplex<f32>>
  return %r : tensor<2xcomplex<f32>>
}
