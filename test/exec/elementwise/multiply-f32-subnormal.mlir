/// A product may be subnormal, and rounds to even there.
// input: 4xf32=1.1754944e-38,1e-45,1e-45,1e-30
// input: 4xf32=0.5,0.5,1.5,1e-30
// result: 4xf32=5.877472e-39,0,3e-45,0
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.multiply %a, %b : tensor<4xf32>
  return %r : tensor<4xf32>
}
