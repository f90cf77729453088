/// Division of 64-bit integers by zero and by -1.
// input: 4xi64=-9223372036854775808,9223372036854775807,-9,9223372036854775807
// input: 4xi64=-1,0,2,-9223372036854775808
// result: 4xi64=-9223372036854775808,-1,-4,0
func.func @main(%a: tensor<4xi64>, %b: tensor<4xi64>) -> tensor<4xi64> {
  %r = stablehlo.divide %a, %b : tensor<4xi64>
  return %r : tensor<4xi64>
}
