/// Subnormal halves become normal numbers.
// input: 4xf16=6e-8,-6.1e-5,65504,nan
// result: 4xf32=5.9604645e-08,-6.097555e-05,65504,nan
func.func @main(%a: tensor<4xf16>) -> tensor<4xf32> {
  %r = stablehlo.convert %a : (tensor<4xf16>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
