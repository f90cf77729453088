/// Strides that do not divide the range.
// input: 2x7xi32=0,1,2,3,4,5,6,7,8,9,10,11,12,13
// result: 1x2xi32=8,11
func.func @main(%a: tensor<2x7xi32>) -> tensor<1x2xi32> {
  %r = stablehlo.slice %a [1:2, 1:7:3] : (tensor<2x7xi32>) -> tensor<1x2xi32>
  return %r : tensor<1x2xi32>
}
