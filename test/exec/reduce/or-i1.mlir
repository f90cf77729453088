/// Any.
// input: 3x2xi1=true,true,true,false,false,false
// result: 3xi1=true,true,false
func.func @main(%a: tensor<3x2xi1>) -> tensor<3xi1> {
  %z = stablehlo.constant dense<false> : tensor<i1>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.or across dimensions = [1] : (tensor<3x2xi1>, tensor<i1>) -> tensor<3xi1>
  return %r : tensor<3xi1>
}
