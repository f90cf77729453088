/// A convolution of integers.
// input: 1x1x3xi32=1,2,3
// input: 1x1x2xi32=-1,1
// result: 1x1x2xi32=1,1
func.func @main(%a: tensor<1x1x3xi32>, %b: tensor<1x1x2xi32>) -> tensor<1x1x2xi32> {
  %r = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x3xi32>, tensor<1x1x2xi32>) -> tensor<1x1x2xi32>
  return %r : tensor<1x1x2xi32>
}
