/// A computed value is two results.
// input: 2xi32=1,2
// result: 2xi32=2,4
// result: 2xi32=2,4
func.func @main(%a: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
  %0 = stablehlo.add %a, %a : tensor<2xi32>
  return %0, %0 : tensor<2xi32>, tensor<2xi32>
}
