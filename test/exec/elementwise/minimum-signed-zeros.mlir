/// The minimum of the two zeros is the negative one, as IEEE 754 says.
// input: 4xf32=0,-0.0,-0.0,0
// input: 4xf32=-0.0,0,-0.0,0
// result: 4xf32=-0.0,-0.0,-0.0,0
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.minimum %a, %b : tensor<4xf32>
  return %r : tensor<4xf32>
}
