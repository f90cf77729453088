/// Channels last, as most models have it.
// input: 1x4x4x2xf32=3,2,4,0,-4,4,-2,4,2,0,-3,-1,3,-3,1,-4,4,-1,4,-3,-4,-4,-2,2,0,4,1,2,1,4,-1,3
// input: 3x3x2x3xf32=-4,1,0,0,3,-1,-1,0,0,-2,3,-3,4,0,1,1,0,1,-1,2,0,-1,-4,-4,0,-3,0,-2,-4,0,3,-1,-3,1,0,-2,0,0,-1,-4,3,2,-1,3,0,3,-1,3,0,-3,-2,4,0,0
// result: 1x2x2x3xf32=-47,47,-12,-3,5,-19,-2,25,39,33,43,38
func.func @main(%a: tensor<1x4x4x2xf32>, %b: tensor<3x3x2x3xf32>) -> tensor<1x2x2x3xf32> {
  %r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x2xf32>, tensor<3x3x2x3xf32>) -> tensor<1x2x2x3xf32>
  return %r : tensor<1x2x2x3xf32>
}
