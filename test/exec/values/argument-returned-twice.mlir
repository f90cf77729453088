/// An argument is two results, with a computed one between them.
// input: 2xi32=1,2
// result: 2xi32=1,2
// result: 2xi32=-1,-2
// result: 2xi32=1,2
func.func @main(%a: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) {
  %0 = stablehlo.negate %a : tensor<2xi32>
  return %a, %0, %a : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
}
