/// A transposition of 4-bit integers.
// input: 2x3xi4=1,2,3,-4,-5,-6
// result: 3x2xi4=1,-4,2,-5,3,-6
func.func @main(%a: tensor<2x3xi4>) -> tensor<3x2xi4> {
  %r = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xi4>) -> tensor<3x2xi4>
  return %r : tensor<3x2xi4>
}
