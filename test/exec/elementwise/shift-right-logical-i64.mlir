/// Counts above 31 and above 63 for 64-bit integers.
// input: 4xi64=-1,-1,-1,8
// input: 4xi64=32,63,64,-1
// result: 4xi64=4294967295,1,0,0
func.func @main(%a: tensor<4xi64>, %b: tensor<4xi64>) -> tensor<4xi64> {
  %r = stablehlo.shift_right_logical %a, %b : tensor<4xi64>
  return %r : tensor<4xi64>
}
