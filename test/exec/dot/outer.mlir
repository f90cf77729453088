/// Without contracted dimensions it is an outer product.
// input: 2xf32=1,2
// input: 3xf32=4,-5,6
// result: 2x3xf32=4,-5,6,8,-10,12
func.func @main(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [] x [] : (tensor<2xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}
