/// A selected constant hides the division by zero beside it.
// input: 3xi32=10,7,-2147483648
// input: 3xi32=0,2,-1
// result: 3xi32=0,3,-2147483648
func.func @main(%a: tensor<3xi32>, %b: tensor<3xi32>) -> tensor<3xi32> {
  %zero = stablehlo.constant dense<0> : tensor<3xi32>
  %0 = stablehlo.compare EQ, %b, %zero, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  %1 = stablehlo.divide %a, %b : tensor<3xi32>
  %r = stablehlo.select %0, %zero, %1 : tensor<3xi1>, tensor<3xi32>
  return %r : tensor<3xi32>
}
