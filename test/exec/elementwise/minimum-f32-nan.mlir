/// A minimum with NaN is NaN, on either side.
// input: 4xf32=nan,1,-inf,2
// input: 4xf32=1,nan,inf,2
// result: 4xf32=nan,nan,-inf,2
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.minimum %a, %b : tensor<4xf32>
  return %r : tensor<4xf32>
}
