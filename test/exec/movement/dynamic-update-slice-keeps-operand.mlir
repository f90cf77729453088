/// The operand of an update is also a result: the update must not overwrite it.
// input: 4xi32=1,2,3,4
// input: 1xi32=9
// input: i32=2
// result: 4xi32=1,2,3,4
// result: 4xi32=1,2,9,4
func.func @main(%a: tensor<4xi32>, %b: tensor<1xi32>, %c: tensor<i32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %r1 = stablehlo.dynamic_update_slice %a, %b, %c : (tensor<4xi32>, tensor<1xi32>, tensor<i32>) -> tensor<4xi32>
  return %a, %r1 : tensor<4xi32>, tensor<4xi32>
}
