/// Operands without elements, first, between and last.
// input: 0xf32=
// input: 2xf32=1,-0.0
// input: 0xf32=
// result: 4xf32=1,-0.0,1,-0.0
func.func @main(%a: tensor<0xf32>, %b: tensor<2xf32>, %c: tensor<0xf32>) -> tensor<4xf32> {
  %r = stablehlo.concatenate %a, %b, %c, %b, dim = 0 : (tensor<0xf32>, tensor<2xf32>, tensor<0xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
