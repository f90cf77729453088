/// The absolute value of the least integer is itself.
// input: 4xi32=-2147483648,2147483647,-1,0
// result: 4xi32=-2147483648,2147483647,1,0
func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {
  %r = stablehlo.abs %a : tensor<4xi32>
  return %r : tensor<4xi32>
}
