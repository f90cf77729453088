/// As many groups as channels.
// input: 1x2x3xf32=1,2,3,10,20,30
// input: 2x1x2xf32=1,1,1,-1
// result: 1x2x2xf32=3,5,-10,-10
func.func @main(%a: tensor<1x2x3xf32>, %b: tensor<2x1x2xf32>) -> tensor<1x2x2xf32> {
  %r = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x2x3xf32>, tensor<2x1x2xf32>) -> tensor<1x2x2xf32>
  return %r : tensor<1x2x2xf32>
}
