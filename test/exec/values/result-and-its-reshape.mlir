/// A value and a reshape of it are two results.
// input: 4xi32=1,2,3,4
// result: 4xi32=-1,-2,-3,-4
// result: 2x2xi32=-1,-2,-3,-4
func.func @main(%a: tensor<4xi32>) -> (tensor<4xi32>, tensor<2x2xi32>) {
  %r0 = stablehlo.negate %a : tensor<4xi32>
  %r1 = stablehlo.reshape %r0 : (tensor<4xi32>) -> tensor<2x2xi32>
  return %r0, %r1 : tensor<4xi32>, tensor<2x2xi32>
}
