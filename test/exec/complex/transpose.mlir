/// A transposition moves both parts.
// input: 2x2xcomplex<f32>=1+2i,3+4i,5+6i,7+8i
// result: 2x2xcomplex<f32>=1+2i,5+6i,3+4i,7+8i
func.func @main(%a: tensor<2x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>> {
  %r = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  return %r : tensor<2x2xcomplex<f32>>
}
