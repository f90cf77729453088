/// Sums with infinities, NaN and signed zeros.
// input: 6xf32=inf,inf,-0.0,-0.0,nan,3.4028235e38
// input: 6xf32=-inf,1,-0.0,0,1,3.4028235e38
// result: 6xf32=nan,inf,-0.0,0,nan,inf
func.func @main(%a: tensor<6xf32>, %b: tensor<6xf32>) -> tensor<6xf32> {
  %r = stablehlo.add %a, %b : tensor<6xf32>
  return %r : tensor<6xf32>
}
