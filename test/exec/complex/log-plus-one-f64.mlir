/// log(1 + z) of complex<f64>, also near zero.
// input: 4xcomplex<f64>=1+2i,-3+0.5i,1e-10-1e-09i,0.25-1i
// result: 4xcomplex<f64>=1.0397207708399179+0.7853981633974483i,0.7234594914681627+2.896613990462929i,1.00000000495e-10-9.999999999000001e-10i,0.4704916722322633-0.6747409422235526i
// within: 2 ulps
func.func @main(%a: tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>> {
  %r = stablehlo.log_plus_one %a : tensor<4xcomplex<f64>>
  return %r : tensor<4xcomplex<f64>>
}
