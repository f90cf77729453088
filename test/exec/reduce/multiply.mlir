/// Products.
// input: 2x4xi32=1,2,3,4,-1,5,0,7
// result: 2xi32=24,0
func.func @main(%a: tensor<2x4xi32>) -> tensor<2xi32> {
  %z = stablehlo.constant dense<1> : tensor<i32>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.multiply across dimensions = [1] : (tensor<2x4xi32>, tensor<i32>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}
