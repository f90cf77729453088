/// Rounding to 5 exponent and 10 mantissa bits, with overflow and ties.
// input: 7xf32=65519,65520,1.00048828125,1.00146484375,1e-10,nan,-inf
// result: 7xf32=65504,inf,1,1.001953125,0,nan,-inf
func.func @main(%a: tensor<7xf32>) -> tensor<7xf32> {
  %r = stablehlo.reduce_precision %a, format = e5m10 : tensor<7xf32>
  return %r : tensor<7xf32>
}
