/// Negative padding cuts elements off.
// input: 1x1x5xf32=1,2,3,4,5
// input: 1x1x2xf32=1,1
// result: 1x1x2xf32=5,7
func.func @main(%a: tensor<1x1x5xf32>, %b: tensor<1x1x2xf32>) -> tensor<1x1x2xf32> {
  %r = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[-1, -1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x5xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  return %r : tensor<1x1x2xf32>
}
