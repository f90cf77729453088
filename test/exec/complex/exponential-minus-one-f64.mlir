/// e^z - 1 of complex<f64>, which nearly cancels for small z.
// input: 4xcomplex<f64>=1+2i,-3+0.5i,1e-10-1e-09i,0.25-1i
// result: 4xcomplex<f64>=-2.1312043837568138+2.4717266720048188i,-0.9563077369927189+0.02386919206778745i,9.9999999505e-11-1.0000000001e-09i,-0.30623810657031436-1.0804701318986034i
// within: 2 ulps
func.func @main(%a: tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>> {
  %r = stablehlo.exponential_minus_one %a : tensor<4xcomplex<f64>>
  return %r : tensor<4xcomplex<f64>>
}
