/// Zeros between the elements of the input: a transposed convolution.
// input: 1x1x3xf32=1,2,3
// input: 1x1x2xf32=1,10
// result: 1x1x4xf32=1,20,2,30
func.func @main(%a: tensor<1x1x3xf32>, %b: tensor<1x1x2xf32>) -> tensor<1x1x4xf32> {
  %r = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x3xf32>, tensor<1x1x2xf32>) -> tensor<1x1x4xf32>
  return %r : tensor<1x1x4xf32>
}
