/// A real number gets an imaginary part of zero.
// input: 2xf32=1.5,-0.0
// result: 2xcomplex<f32>=1.5+0i,-0+0i
func.func @main(%a: tensor<2xf32>) -> tensor<2xcomplex<f32>> {
  %r = stablehlo.convert %a : (tensor<2xf32>) -> tensor<2xcomplex<f32>>
  return %r : tensor<2xcomplex<f32>>
}
