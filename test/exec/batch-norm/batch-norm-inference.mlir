/// A batch norm with given mean and variance.
// input: 2x2xf32=1,2,3,4
// input: 2xf32=2,1
// input: 2xf32=0,10
// input: 2xf32=1,3
// input: 2xf32=4,0.25
// result: 2x2xf32=0,8,2,12
// within: 4 ulps
func.func @main(%a: tensor<2x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %d: tensor<2xf32>, %e: tensor<2xf32>) -> tensor<2x2xf32> {
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}
