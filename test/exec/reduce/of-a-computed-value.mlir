/// A reduction of values that are computed on the way, and a use of its result for each of them.
// input: 2x4xf32=1,2,3,4,-1,0,1,8
// result: 2x4xf32=-29,-26,-21,-14,-65,-66,-65,-2
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %a, %a : tensor<2x4xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<2xf32>) -> tensor<2x4xf32>
  %r = stablehlo.subtract %0, %2 : tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
