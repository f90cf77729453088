/// A transposition of a matrix.
// input: 2x3xf32=1,2,3,4,5,6
// result: 3x2xf32=1,4,2,5,3,6
func.func @main(%a: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %r = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}
