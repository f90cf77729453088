/// Two arguments are returned in the other order.
// input: 2xi32=1,2
// input: 2xi32=3,4
// result: 2xi32=3,4
// result: 2xi32=1,2
func.func @main(%a: tensor<2xi32>, %b: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
  return %b, %a : tensor<2xi32>, tensor<2xi32>
}
