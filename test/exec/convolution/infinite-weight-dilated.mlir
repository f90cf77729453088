/// In a dilated dimension the padding is skipped like the zeros between the elements. In the other one it is an element, so an infinite
/// weight gives NaN there.
// input: 1x1x2x2xf32=1,2,3,4
// input: 1x1x2x2xf32=inf,1,1,1
// result: 1x1x3x3xf32=nan,inf,inf,3,7,4,nan,inf,inf
func.func @main(%x: tensor<1x1x2x2xf32>, %w: tensor<1x1x2x2xf32>) -> tensor<1x1x3x3xf32> {
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
    window = {stride = [1, 1], pad = [[0, 1], [1, 1]], lhs_dilate = [2, 1]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x3x3xf32>
  return %r : tensor<1x1x3x3xf32>
}
