/// A dimension of size one is repeated, and dimensions change places.
// input: 1x2xi32=5,6
// result: 2x2x3xi32=5,5,5,5,5,5,6,6,6,6,6,6
func.func @main(%a: tensor<1x2xi32>) -> tensor<2x2x3xi32> {
  %r = stablehlo.broadcast_in_dim %a, dims = [2, 0] : (tensor<1x2xi32>) -> tensor<2x2x3xi32>
  return %r : tensor<2x2x3xi32>
}
