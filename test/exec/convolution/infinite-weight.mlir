/// The padding is multiplied too: zero times infinity is NaN.
// input: 1x1x3xf32=1,2,3
// input: 1x1x3xf32=inf,1,1
// result: 1x1x3xf32=nan,inf,inf
func.func @main(%a: tensor<1x1x3xf32>, %b: tensor<1x1x3xf32>) -> tensor<1x1x3xf32> {
  %r = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x3xf32>
  return %r : tensor<1x1x3xf32>
}
