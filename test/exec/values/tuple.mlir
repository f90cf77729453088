/// Values in a tuple and out of it.
// input: 2xf32=1,2
// input: i32=3
// result: i32=3
// result: 2xf32=1,2
func.func @main(%a: tensor<2xf32>, %b: tensor<i32>) -> (tensor<i32>, tensor<2xf32>) {
  %0 = stablehlo.tuple %a, %b : tuple<tensor<2xf32>, tensor<i32>>
  %r0 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<i32>
  %r1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<2xf32>
  return %r0, %r1 : tensor<i32>, tensor<2xf32>
}
