/// A batch of two matrices of one element.
// input: 2x1x1xf32=4,9
// result: 2x1x1xf32=2,3
func.func @main(%a: tensor<2x1x1xf32>) -> tensor<2x1x1xf32> {
  %r = stablehlo.cholesky %a, lower = true : tensor<2x1x1xf32>
  return %r : tensor<2x1x1xf32>
}
