/// A reduction across no dimension is a copy.
// input: 2x2xi32=1,2,3,4
// result: 2x2xi32=1,2,3,4
func.func @main(%a: tensor<2x2xi32>) -> tensor<2x2xi32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [] : (tensor<2x2xi32>, tensor<i32>) -> tensor<2x2xi32>
  return %r : tensor<2x2xi32>
}
