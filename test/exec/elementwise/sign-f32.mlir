/// The sign of a zero is that zero, of NaN it is NaN.
// input: 6xf32=-0.0,0,-inf,inf,nan,-1e-45
// result: 6xf32=-0.0,0,-1,1,nan,-1
func.func @main(%a: tensor<6xf32>) -> tensor<6xf32> {
  %r = stablehlo.sign %a : tensor<6xf32>
  return %r : tensor<6xf32>
}
