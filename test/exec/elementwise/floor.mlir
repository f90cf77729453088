/// Floors, with the sign of zero and of what rounds to it.
// input: 7xf32=-0.5,0.5,-0.0,-1.5,8388609,inf,nan
// result: 7xf32=-1,0,-0.0,-2,8388609,inf,nan
func.func @main(%a: tensor<7xf32>) -> tensor<7xf32> {
  %r = stablehlo.floor %a : tensor<7xf32>
  return %r : tensor<7xf32>
}
