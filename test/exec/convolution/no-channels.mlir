/// No input features: a sum of nothing.
// input: 1x3x0xf32=
// input: 2x0x2xf32=
// result: 1x2x2xf32=0,0,0,0
func.func @main(%a: tensor<1x3x0xf32>, %b: tensor<2x0x2xf32>) -> tensor<1x2x2xf32> {
  %r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x0xf32>, tensor<2x0x2xf32>) -> tensor<1x2x2xf32>
  return %r : tensor<1x2x2xf32>
}
