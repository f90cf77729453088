/// Arithmetic on nothing.
// input: 0xf32=
// input: 0xf32=
// result: 0xf32=
func.func @main(%a: tensor<0xf32>, %b: tensor<0xf32>) -> tensor<0xf32> {
  %r = stablehlo.add %a, %b : tensor<0xf32>
  return %r : tensor<0xf32>
}
