/// Two positions in one index; the second is clamped.
// input: 8xi32=0,1,2,3,4,5,6,7
// input: i32=2
// input: i64=5
// result: 3xi32=4,5,6
func.func @main(%a: tensor<8xi32>, %b: tensor<i32>, %c: tensor<i64>) -> tensor<3xi32> {
  %s = stablehlo.dynamic_slice %a, %b, sizes = [5] : (tensor<8xi32>, tensor<i32>) -> tensor<5xi32>
  %r = stablehlo.dynamic_slice %s, %c, sizes = [3] : (tensor<5xi32>, tensor<i64>) -> tensor<3xi32>
  return %r : tensor<3xi32>
}
