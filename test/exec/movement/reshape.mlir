/// A reshape keeps the order of elements, also after a transposition.
// input: 2x3xi32=1,2,3,4,5,6
// result: 2x3xi32=1,4,2,5,3,6
func.func @main(%a: tensor<2x3xi32>) -> tensor<2x3xi32> {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  %r = stablehlo.reshape %0 : (tensor<3x2xi32>) -> tensor<2x3xi32>
  return %r : tensor<2x3xi32>
}
