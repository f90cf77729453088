/// A count along each of two dimensions.
// result: 2x3xi32=0,0,0,1,1,1
// result: 2x3xf32=0,1,2,0,1,2
func.func @main() -> (tensor<2x3xi32>, tensor<2x3xf32>) {
  %r0 = stablehlo.iota dim = 0 : tensor<2x3xi32>
  %r1 = stablehlo.iota dim = 1 : tensor<2x3xf32>
  return %r0, %r1 : tensor<2x3xi32>, tensor<2x3xf32>
}
