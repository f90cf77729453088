/// The sign of integers.
// input: 4xi32=-2147483648,0,2147483647,-1
// result: 4xi32=-1,0,1,-1
func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {
  %r = stablehlo.sign %a : tensor<4xi32>
  return %r : tensor<4xi32>
}
