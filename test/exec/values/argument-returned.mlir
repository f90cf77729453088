/// An argument is the result.
// input: 2x2xf32=1,-0.0,nan,inf
// result: 2x2xf32=1,-0.0,nan,inf
func.func @main(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {
  return %a : tensor<2x2xf32>
}
