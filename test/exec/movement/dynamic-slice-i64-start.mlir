/// A start of 64 bits whose low half is small is still beyond the end.
// input: 4xi32=1,2,3,4
// input: i64=4294967296
// result: 2xi32=3,4
func.func @main(%a: tensor<4xi32>, %b: tensor<i64>) -> tensor<2xi32> {
  %r = stablehlo.dynamic_slice %a, %b, sizes = [2] : (tensor<4xi32>, tensor<i64>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}
