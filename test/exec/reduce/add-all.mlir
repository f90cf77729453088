/// A sum of everything is a scalar.
// input: 2x3x4xi32=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23
// result: i32=276
func.func @main(%a: tensor<2x3x4xi32>) -> tensor<i32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x3x4xi32>, tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}
