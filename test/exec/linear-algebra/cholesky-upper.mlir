/// The upper factor.
// input: 3x3xf32=4,2,-2,99,10,5,99,99,6
// result: 3x3xf32=2,1,-1,0,3,2,0,0,1
func.func @main(%a: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %low = stablehlo.iota dim = 0 : tensor<3x3xi32>
  %col = stablehlo.iota dim = 1 : tensor<3x3xi32>
  %keep = stablehlo.compare LE, %low, %col, SIGNED : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi1>
  %zero = stablehlo.constant dense<0.0> : tensor<3x3xf32>
  %0 = stablehlo.cholesky %a, lower = false : tensor<3x3xf32>
  %r = stablehlo.select %keep, %0, %zero : tensor<3x3xi1>, tensor<3x3xf32>
  return %r : tensor<3x3xf32>
}
