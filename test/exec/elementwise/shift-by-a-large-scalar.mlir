/// A count above 32 bits that is the same for all elements.
// input: 4xi64=8,-1,5,1
// input: i64=4294967296
// result: 4xi64=0
// result: 4xi64=0,-1,0,0
func.func @main(%a: tensor<4xi64>, %b: tensor<i64>) -> (tensor<4xi64>, tensor<4xi64>) {
  %0 = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<i64>) -> tensor<4xi64>
  %r0 = stablehlo.shift_left %a, %0 : tensor<4xi64>
  %r1 = stablehlo.shift_right_arithmetic %a, %0 : tensor<4xi64>
  return %r0, %r1 : tensor<4xi64>, tensor<4xi64>
}
