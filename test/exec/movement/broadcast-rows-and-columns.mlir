/// The same vector along rows and along columns.
// input: 3xi32=1,2,3
// result: 3x3xi32=0,-1,-2,1,0,-1,2,1,0
func.func @main(%a: tensor<3xi32>) -> tensor<3x3xi32> {
  %0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<3xi32>) -> tensor<3x3xi32>
  %1 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<3xi32>) -> tensor<3x3xi32>
  %r = stablehlo.subtract %0, %1 : tensor<3x3xi32>
  return %r : tensor<3x3xi32>
}
