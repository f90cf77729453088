/// Quotients of complex<f64>.
// input: 6xcomplex<f64>=1+2i,-3+0.5i,0.25-1i,0.001+0.002i,-0.7-0.7i,12+30i
// input: 6xcomplex<f64>=2-1i,1+1i,-0.5+4i,3+0i,0.3+0.1i,0.5-0.25i
// result: 6xcomplex<f64>=0+1i,-1.25+1.75i,-0.25384615384615383-0.03076923076923077i,0.0003333333333333333+0.0006666666666666666i,-2.8-1.4i,-4.8+57.6i
// within: 2 ulps
func.func @main(%a: tensor<6xcomplex<f64>>, %b: tensor<6xcomplex<f64>>) -> tensor<6xcomplex<f64>> {
  %r = stablehlo.divide %a, %b : tensor<6xcomplex<f64>>
  return %r : tensor<6xcomplex<f64>>
}
