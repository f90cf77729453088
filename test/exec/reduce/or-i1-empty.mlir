/// Any of nothing is false.
// input: 2x0xi1=
// result: 2xi1=false
func.func @main(%a: tensor<2x0xi1>) -> tensor<2xi1> {
  %z = stablehlo.constant dense<false> : tensor<i1>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.or across dimensions = [1] : (tensor<2x0xi1>, tensor<i1>) -> tensor<2xi1>
  return %r : tensor<2xi1>
}
