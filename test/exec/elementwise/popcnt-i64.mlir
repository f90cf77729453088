/// Population counts of 64-bit integers.
// input: 3xi64=-1,4294967296,0
// result: 3xi64=64,1,0
func.func @main(%a: tensor<3xi64>) -> tensor<3xi64> {
  %r = stablehlo.popcnt %a : tensor<3xi64>
  return %r : tensor<3xi64>
}
