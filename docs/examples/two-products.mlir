// Two matrix products of different shapes: one of squares, one of a row and a matrix.
func.func @main(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>, %row: tensor<1x512xf32>) -> (tensor<512x512xf32>, tensor<1x512xf32>) {
  %square = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %product = stablehlo.dot_general %row, %b, contracting_dims = [1] x [0] : (tensor<1x512xf32>, tensor<512x512xf32>) -> tensor<1x512xf32>
  return %square, %product : tensor<512x512xf32>, tensor<1x512xf32>
}
