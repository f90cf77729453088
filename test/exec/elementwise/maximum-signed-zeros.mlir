/// The maximum of the two zeros is the positive one, as IEEE 754 says.
// input: 4xf32=0,-0.0,-0.0,0
// input: 4xf32=-0.0,0,-0.0,0
// result: 4xf32=0,0,-0.0,0
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.maximum %a, %b : tensor<4xf32>
  return %r : tensor<4xf32>
}
