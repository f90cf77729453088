/// A negative start is zero.
// input: 5xi32=1,2,3,4,5
// input: 2xi32=8,9
// input: i32=-3
// result: 5xi32=8,9,3,4,5
func.func @main(%a: tensor<5xi32>, %b: tensor<2xi32>, %c: tensor<i32>) -> tensor<5xi32> {
  %r = stablehlo.dynamic_update_slice %a, %b, %c : (tensor<5xi32>, tensor<2xi32>, tensor<i32>) -> tensor<5xi32>
  return %r : tensor<5xi32>
}
