/// One result has no elements, the other does.
// input: 0x2xf32=
// input: 2xf32=1,2
// result: 0x2xf32=
// result: 2xf32=-1,-2
func.func @main(%a: tensor<0x2xf32>, %b: tensor<2xf32>) -> (tensor<0x2xf32>, tensor<2xf32>) {
  %r0 = stablehlo.negate %a : tensor<0x2xf32>
  %r1 = stablehlo.negate %b : tensor<2xf32>
  return %r0, %r1 : tensor<0x2xf32>, tensor<2xf32>
}
