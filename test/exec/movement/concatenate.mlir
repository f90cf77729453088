/// Three operands of different sizes along the last dimension.
// input: 2x1xi32=1,2
// input: 2x2xi32=3,4,5,6
// input: 2x1xi32=7,8
// result: 2x4xi32=1,3,4,7,2,5,6,8
func.func @main(%a: tensor<2x1xi32>, %b: tensor<2x2xi32>, %c: tensor<2x1xi32>) -> tensor<2x4xi32> {
  %r = stablehlo.concatenate %a, %b, %c, dim = 1 : (tensor<2x1xi32>, tensor<2x2xi32>, tensor<2x1xi32>) -> tensor<2x4xi32>
  return %r : tensor<2x4xi32>
}
