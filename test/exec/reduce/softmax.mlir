/// A softmax of rows, one of which would overflow without the maximum.
// input: 2x3xf32=1,2,3,1000,1001,999
// result: 2x3xf32=0.09003057,0.24472848,0.66524094,0.24472848,0.66524094,0.09003057
// within: 8 ulps
func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
  %2 = stablehlo.subtract %a, %1 : tensor<2x3xf32>
  %3 = stablehlo.exponential %2 : tensor<2x3xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
  %r = stablehlo.divide %3, %5 : tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}
