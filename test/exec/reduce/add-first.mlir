/// Sums along the first dimension.
// input: 2x3x4xi32=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23
// result: 3x4xi32=12,14,16,18,20,22,24,26,28,30,32,34
func.func @main(%a: tensor<2x3x4xi32>) -> tensor<3x4xi32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<2x3x4xi32>, tensor<i32>) -> tensor<3x4xi32>
  return %r : tensor<3x4xi32>
}
