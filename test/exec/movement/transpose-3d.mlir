/// A rotation of three dimensions, which is not its own inverse.
// input: 2x3x4xi32=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23
// result: 4x2x3xi32=0,4,8,12,16,20,1,5,9,13,17,21,2,6,10,14,18,22,3,7,11,15,19,23
func.func @main(%a: tensor<2x3x4xi32>) -> tensor<4x2x3xi32> {
  %r = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<2x3x4xi32>) -> tensor<4x2x3xi32>
  return %r : tensor<4x2x3xi32>
}
