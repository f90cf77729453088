/// Nine dimensions, reversed and transposed.
// input: 1x2x1x2x1x2x1x2x1xi32=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
// result: 1x2x1x2x1x2x1x2x1xi32=14,6,10,2,12,4,8,0,15,7,11,3,13,5,9,1
func.func @main(%a: tensor<1x2x1x2x1x2x1x2x1xi32>) -> tensor<1x2x1x2x1x2x1x2x1xi32> {
  %v = stablehlo.reverse %a, dims = [1, 3, 5] : tensor<1x2x1x2x1x2x1x2x1xi32>
  %r = stablehlo.transpose %v, dims = [8, 7, 6, 5, 4, 3, 2, 1, 0] : (tensor<1x2x1x2x1x2x1x2x1xi32>) -> tensor<1x2x1x2x1x2x1x2x1xi32>
  return %r : tensor<1x2x1x2x1x2x1x2x1xi32>
}
