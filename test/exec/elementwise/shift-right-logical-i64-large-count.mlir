/// A count above 32 bits is large, although its low half is small.
// input: 4xi64=8,-1,-1,-1
// input: 4xi64=4294967296,4294967297,-9223372036854775808,-4294967295
// result: 4xi64=0
func.func @main(%a: tensor<4xi64>, %b: tensor<4xi64>) -> tensor<4xi64> {
  %r = stablehlo.shift_right_logical %a, %b : tensor<4xi64>
  return %r : tensor<4xi64>
}
