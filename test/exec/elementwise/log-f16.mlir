/// Logarithms of f16, also of subnormal numbers.
// input: 6xf16=1,0,6e-8,65504,-1,inf
// result: 6xf16=0,-inf,-16.640625,11.09375,nan,inf
// within: 1 ulps
func.func @main(%a: tensor<6xf16>) -> tensor<6xf16> {
  %r = stablehlo.log %a : tensor<6xf16>
  return %r : tensor<6xf16>
}
