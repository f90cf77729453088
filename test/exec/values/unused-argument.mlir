/// An argument that is not used.
// input: 2xf32=nan,nan
// input: 2xf32=1,2
// result: 2xf32=2,4
func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
  %r = stablehlo.add %b, %b : tensor<2xf32>
  return %r : tensor<2xf32>
}
