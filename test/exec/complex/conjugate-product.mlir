/// A number times its conjugate is real.
// input: 3xcomplex<f64>=1+2i,-3+0.5i,0-1i
// result: 3xcomplex<f64>=5+0i,9.25+0i,1+0i
func.func @main(%a: tensor<3xcomplex<f64>>) -> tensor<3xcomplex<f64>> {
  %0 = stablehlo.real %a : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
  %1 = stablehlo.imag %a : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
  %2 = stablehlo.negate %1 : tensor<3xf64>
  %3 = stablehlo.complex %0, %2 : tensor<3xcomplex<f64>>
  %r = stablehlo.multiply %a, %3 : tensor<3xcomplex<f64>>
  return %r : tensor<3xcomplex<f64>>
}
