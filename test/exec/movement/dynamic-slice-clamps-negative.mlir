/// A negative start is zero; it does not count from the end.
// input: 3x4xi32=0,1,2,3,4,5,6,7,8,9,10,11
// input: i32=-1
// input: i32=-2147483648
// result: 2x2xi32=0,1,4,5
func.func @main(%a: tensor<3x4xi32>, %b: tensor<i32>, %c: tensor<i32>) -> tensor<2x2xi32> {
  %r = stablehlo.dynamic_slice %a, %b, %c, sizes = [2, 2] : (tensor<3x4xi32>, tensor<i32>, tensor<i32>) -> tensor<2x2xi32>
  return %r : tensor<2x2xi32>
}
