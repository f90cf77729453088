/// Tangents.
// input: 3xcomplex<f32>=1+2i,-0.3+0.5i,0.25-1i
// result: 3xcomplex<f32>=0.033812825+1.0147936i,-0.2384051+0.49619707i,0.103329405-0.78168833i
// within: 8 ulps
func.func @main(%a: tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
  %r = stablehlo.tan %a : tensor<3xcomplex<f32>>
  return %r : tensor<3xcomplex<f32>>
}
