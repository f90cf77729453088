/// The sign has the absolute value one.
// input: 3xcomplex<f32>=1+2i,-0.3+0.5i,0.25-1i
// result: 3xcomplex<f32>=0.4472136+0.8944272i,-0.5144958+0.8574929i,0.24253562-0.9701425i
// within: 8 ulps
func.func @main(%a: tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
  %r = stablehlo.sign %a : tensor<3xcomplex<f32>>
  return %r : tensor<3xcomplex<f32>>
}
