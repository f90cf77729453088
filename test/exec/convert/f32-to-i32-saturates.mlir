/// Floats outside the range saturate, NaN becomes zero.
// input: 8xf32=2147483648,-3e9,nan,inf,-inf,2147483520,-2147483648,-0.9
// result: 8xi32=2147483647,-2147483648,0,2147483647,-2147483648,2147483520,-2147483648,0
func.func @main(%a: tensor<8xf32>) -> tensor<8xi32> {
  %r = stablehlo.convert %a : (tensor<8xf32>) -> tensor<8xi32>
  return %r : tensor<8xi32>
}
