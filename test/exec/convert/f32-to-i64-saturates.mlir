/// Conversion to 64 bits saturates.
// input: 5xf32=9.2233715e18,-1e19,1e19,nan,-9.2233715e18
// result: 5xi64=9223371487098961920,-9223372036854775808,9223372036854775807,0,-9223371487098961920
func.func @main(%a: tensor<5xf32>) -> tensor<5xi64> {
  %r = stablehlo.convert %a : (tensor<5xf32>) -> tensor<5xi64>
  return %r : tensor<5xi64>
}
