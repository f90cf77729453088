/// The absolute value clears the sign, also of zero.
// input: 4xf32=-0.0,-inf,-1.5,nan
// result: 4xf32=0,inf,1.5,nan
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.abs %a : tensor<4xf32>
  return %r : tensor<4xf32>
}
