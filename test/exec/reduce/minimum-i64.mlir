/// Minima of 64-bit integers.
// input: 2x2xi64=9223372036854775807,-9223372036854775808,4294967296,5
// result: 2xi64=-9223372036854775808,5
func.func @main(%a: tensor<2x2xi64>) -> tensor<2xi64> {
  %z = stablehlo.constant dense<9223372036854775807> : tensor<i64>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.minimum across dimensions = [1] : (tensor<2x2xi64>, tensor<i64>) -> tensor<2xi64>
  return %r : tensor<2xi64>
}
