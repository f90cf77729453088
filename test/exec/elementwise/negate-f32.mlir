/// Negation flips the sign, also of zero.
// input: 4xf32=0,-0.0,inf,nan
// result: 4xf32=-0.0,0,-inf,nan
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.negate %a : tensor<4xf32>
  return %r : tensor<4xf32>
}
