/// A count of complex numbers has no imaginary part.
// result: 3xcomplex<f32>=0+0i,1+0i,2+0i
func.func @main() -> tensor<3xcomplex<f32>> {
  %r = stablehlo.iota dim = 0 : tensor<3xcomplex<f32>>
  return %r : tensor<3xcomplex<f32>>
}
