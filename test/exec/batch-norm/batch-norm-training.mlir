/// A batch norm with the mean and variance of the batch, which are results, too.
// input: 2x2xf32=1,2,3,6
// input: 2xf32=2,1
// input: 2xf32=0,10
// result: 2x2xf32=-2,9,2,11
// result: 2xf32=2,4
// result: 2xf32=1,4
// within: 4 ulps
func.func @main(%a: tensor<2x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %r0, %r1, %r2 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return %r0, %r1, %r2 : tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>
}
