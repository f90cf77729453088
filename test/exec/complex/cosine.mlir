/// Cosines.
// input: 3xcomplex<f32>=1+2i,-0.3+0.5i,0.25-1i
// result: 3xcomplex<f32>=2.032723-3.0518978i,1.0772623+0.1539942i,1.49511+0.29074943i
// within: 8 ulps
func.func @main(%a: tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
  %r = stablehlo.cosine %a : tensor<3xcomplex<f32>>
  return %r : tensor<3xcomplex<f32>>
}
