/// An update without elements changes nothing.
// input: 3xf32=1,2,3
// input: 0xf32=
// input: i32=1
// result: 3xf32=1,2,3
func.func @main(%a: tensor<3xf32>, %b: tensor<0xf32>, %c: tensor<i32>) -> tensor<3xf32> {
  %r = stablehlo.dynamic_update_slice %a, %b, %c : (tensor<3xf32>, tensor<0xf32>, tensor<i32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
