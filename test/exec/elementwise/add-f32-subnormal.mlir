/// Sums of subnormal numbers are not flushed to zero.
// input: 3xf32=1e-45,1.1754944e-38,-1e-45
// input: 3xf32=1e-45,-1e-45,1e-45
// result: 3xf32=3e-45,1.1754942e-38,0
func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %r = stablehlo.add %a, %b : tensor<3xf32>
  return %r : tensor<3xf32>
}
