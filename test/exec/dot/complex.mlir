/// A product of complex matrices.
// input: 1x2xcomplex<f32>=1+2i,3-1i
// input: 2x1xcomplex<f32>=2-1i,0+1i
// result: 1x1xcomplex<f32>=5+6i
func.func @main(%a: tensor<1x2xcomplex<f32>>, %b: tensor<2x1xcomplex<f32>>) -> tensor<1x1xcomplex<f32>> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1x2xcomplex<f32>>, tensor<2x1xcomplex<f32>>) -> tensor<1x1xcomplex<f32>>
  return %r : tensor<1x1xcomplex<f32>>
}
