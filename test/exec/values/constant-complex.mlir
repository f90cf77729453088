/// A constant of complex numbers.
// result: 2xcomplex<f32>=1-2i,0+3i
func.func @main() -> tensor<2xcomplex<f32>> {
  %r = stablehlo.constant dense<[(1.0, -2.0), (0.0, 3.0)]> : tensor<2xcomplex<f32>>
  return %r : tensor<2xcomplex<f32>>
}
