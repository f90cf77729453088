/// The gradient of a convolution with stride 2: a dilated input, and the kernel in reverse.
// input: 1x2x2x1xf32=1,2,3,4
// input: 3x3x1x1xf32=1,2,3,4,5,6,7,8,9
// result: 1x4x4x1xf32=5,14,10,12,14,36,24,30,15,34,20,24,24,55,32,36
func.func @main(%a: tensor<1x2x2x1xf32>, %b: tensor<3x3x1x1xf32>) -> tensor<1x4x4x1xf32> {
  %r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 2], [1, 2]], lhs_dilate = [2, 2], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x2x1xf32>, tensor<3x3x1x1xf32>) -> tensor<1x4x4x1xf32>
  return %r : tensor<1x4x4x1xf32>
}
