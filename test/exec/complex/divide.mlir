/// A quotient.
// input: 4xcomplex<f32>=1+2i,-3+0.5i,0-1i,2+0i
// input: 4xcomplex<f32>=2-1i,1+1i,0+1i,-0.5+4i
// result: 4xcomplex<f32>=0+1i,-1.25+1.75i,-1-0.0i,-0.06153846-0.4923077i
// within: 4 ulps
func.func @main(%a: tensor<4xcomplex<f32>>, %b: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %r = stablehlo.divide %a, %b : tensor<4xcomplex<f32>>
  return %r : tensor<4xcomplex<f32>>
}
