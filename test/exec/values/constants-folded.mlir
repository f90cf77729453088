/// A computation of constants only.
// result: 3xf32=0.33333334,0.6666667,1
func.func @main() -> tensor<3xf32> {
  %0 = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %1 = stablehlo.constant dense<3.0> : tensor<3xf32>
  %r = stablehlo.divide %0, %1 : tensor<3xf32>
  return %r : tensor<3xf32>
}
