/// A negative start of a byte is zero.
// input: 4xi32=1,2,3,4
// input: i8=-128
// result: 2xi32=1,2
func.func @main(%a: tensor<4xi32>, %b: tensor<i8>) -> tensor<2xi32> {
  %r = stablehlo.dynamic_slice %a, %b, sizes = [2] : (tensor<4xi32>, tensor<i8>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}
