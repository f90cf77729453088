/// Reciprocal roots.
// input: 3xcomplex<f32>=1+2i,-0.3+0.5i,0.25-1i
// result: 3xcomplex<f32>=0.56886446-0.35157758i,0.6452259-1.1395918i,0.77634937+0.6061553i
// within: 8 ulps
func.func @main(%a: tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
  %r = stablehlo.rsqrt %a : tensor<3xcomplex<f32>>
  return %r : tensor<3xcomplex<f32>>
}
