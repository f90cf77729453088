/// Integers that need more than 24 bits round to even.
// input: 5xi32=16777217,16777219,-16777217,2147483647,-2147483648
// result: 5xf32=16777216,16777220,-16777216,2147483648,-2147483648
func.func @main(%a: tensor<5xi32>) -> tensor<5xf32> {
  %r = stablehlo.convert %a : (tensor<5xi32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}
