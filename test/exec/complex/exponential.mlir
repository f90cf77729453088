/// Exponentials.
// input: 4xcomplex<f32>=1+2i,-3+0.5i,0-1i,2+0i
// result: 4xcomplex<f32>=-1.1312044+2.4717267i,0.043692265+0.023869192i,0.5403023-0.84147096i,7.389056+0i
// within: 8 ulps
func.func @main(%a: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %r = stablehlo.exponential %a : tensor<4xcomplex<f32>>
  return %r : tensor<4xcomplex<f32>>
}
