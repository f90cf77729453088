/// A matrix of several blocks: min(i, j) + 1 is the product of a triangle of ones and its transpose.
// input: f32=1
// result: 70xf32=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65,66,67,68,69,70
func.func @main(%one: tensor<f32>) -> tensor<70xf32> {
  %row = stablehlo.iota dim = 0 : tensor<70x70xf32>
  %column = stablehlo.iota dim = 1 : tensor<70x70xf32>
  %ones = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<70x70xf32>
  %least = stablehlo.minimum %row, %column : tensor<70x70xf32>
  %a = stablehlo.add %least, %ones : tensor<70x70xf32>
  %l = stablehlo.cholesky %a, lower = true : tensor<70x70xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sums = stablehlo.reduce(%l init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<70x70xf32>, tensor<f32>) -> tensor<70xf32>
  return %sums : tensor<70xf32>
}
