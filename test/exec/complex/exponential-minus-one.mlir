/// exp(z) - 1.
// input: 3xcomplex<f32>=1+2i,-0.3+0.5i,0.25-1i
// result: 3xcomplex<f32>=-2.1312044+2.4717267i,-0.34987086+0.35516718i,-0.3062381-1.0804701i
// within: 8 ulps
func.func @main(%a: tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
  %r = stablehlo.exponential_minus_one %a : tensor<3xcomplex<f32>>
  return %r : tensor<3xcomplex<f32>>
}
