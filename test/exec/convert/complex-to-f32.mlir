/// A complex number loses its imaginary part.
// input: 2xcomplex<f32>=1.5-2i,-0+3i
// result: 2xf32=1.5,-0.0
func.func @main(%a: tensor<2xcomplex<f32>>) -> tensor<2xf32> {
  %r = stablehlo.convert %a : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
