/// No spatial dimensions: a matrix product.
// input: 2x3xf32=1,2,3,4,5,6
// input: 3x2xf32=1,0,0,1,1,1
// result: 2x2xf32=4,5,10,11
func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) -> tensor<2x2xf32> {
  %r = stablehlo.convolution(%a, %b) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}
