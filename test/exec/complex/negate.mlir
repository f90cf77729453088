/// Negation flips the signs of zeros.
// input: 2xcomplex<f32>=0+1i,-2-0.0i
// result: 2xcomplex<f32>=-0.0-1i,2+0i
func.func @main(%a: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
  %r = stablehlo.negate %a : tensor<2xcomplex<f32>>
  return %r : tensor<2xcomplex<f32>>
}
