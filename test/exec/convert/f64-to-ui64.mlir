/// Doubles above the largest signed integer convert to unsigned ones.
// input: 5xf64=1e19,1.9e19,-5,nan,9223372036854775808
// result: 5xui64=10000000000000000000,18446744073709551615,0,0,9223372036854775808
func.func @main(%a: tensor<5xf64>) -> tensor<5xui64> {
  %r = stablehlo.convert %a : (tensor<5xf64>) -> tensor<5xui64>
  return %r : tensor<5xui64>
}
