/// Padding of rows and cutting of columns at once, with a computed value.
// input: 2x3xf32=1,2,3,4,5,6
// input: f32=-0.0
// result: 3x3xf32=-0.0,-0.0,-0.0,2,3,-0.0,5,6,-0.0
func.func @main(%a: tensor<2x3xf32>, %b: tensor<f32>) -> tensor<3x3xf32> {
  %r = stablehlo.pad %a, %b, low = [1, -1], high = [0, 1], interior = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x3xf32>
  return %r : tensor<3x3xf32>
}
