/// Six dimensions.
// input: 2x1x2x1x2x1xi32=1,2,3,4,5,6,7,8
// result: 2x1x2x1x2x1xi32=1,3,5,7,2,4,6,8
func.func @main(%a: tensor<2x1x2x1x2x1xi32>) -> tensor<2x1x2x1x2x1xi32> {
  %r = stablehlo.transpose %a, dims = [4, 5, 0, 1, 2, 3] : (tensor<2x1x2x1x2x1xi32>) -> tensor<2x1x2x1x2x1xi32>
  return %r : tensor<2x1x2x1x2x1xi32>
}
