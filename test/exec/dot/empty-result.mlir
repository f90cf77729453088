/// A product without rows.
// input: 0x2xf32=
// input: 2x3xf32=1,2,3,4,5,6
// result: 0x3xf32=
func.func @main(%a: tensor<0x2xf32>, %b: tensor<2x3xf32>) -> tensor<0x3xf32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<0x2xf32>, tensor<2x3xf32>) -> tensor<0x3xf32>
  return %r : tensor<0x3xf32>
}
