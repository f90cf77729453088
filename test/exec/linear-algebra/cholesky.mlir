/// A factor of a matrix, whose upper half is not read; its own upper half is unspecified.
// input: 3x3xf32=4,99,99,2,10,99,-2,5,6
// result: 3x3xf32=2,0,0,1,3,0,-1,2,1
func.func @main(%a: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %low = stablehlo.iota dim = 0 : tensor<3x3xi32>
  %col = stablehlo.iota dim = 1 : tensor<3x3xi32>
  %keep = stablehlo.compare GE, %low, %col, SIGNED : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi1>
  %zero = stablehlo.constant dense<0.0> : tensor<3x3xf32>
  %0 = stablehlo.cholesky %a, lower = true : tensor<3x3xf32>
  %r = stablehlo.select %keep, %0, %zero : tensor<3x3xi1>, tensor<3x3xf32>
  return %r : tensor<3x3xf32>
}
