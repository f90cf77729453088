/// log(1 + z).
// input: 3xcomplex<f32>=1+2i,-0.3+0.5i,0.25-1i
// result: 3xcomplex<f32>=1.0397208+0.7853982i,-0.15055256+0.6202495i,0.47049168-0.67474097i
// within: 8 ulps
func.func @main(%a: tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
  %r = stablehlo.log_plus_one %a : tensor<3xcomplex<f32>>
  return %r : tensor<3xcomplex<f32>>
}
