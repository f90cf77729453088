/// A size of zero between others.
// input: 2x0x3xi32=
// result: 3x0x2xi32=
func.func @main(%a: tensor<2x0x3xi32>) -> tensor<3x0x2xi32> {
  %r = stablehlo.transpose %a, dims = [2, 1, 0] : (tensor<2x0x3xi32>) -> tensor<3x0x2xi32>
  return %r : tensor<3x0x2xi32>
}
