/// Logarithms of f64.
// input: 7xf64=1,0,-1,inf,1e-310,1.0000000000000002,10
// result: 7xf64=0,-inf,nan,inf,-713.8013788281542,2.2204460492503128e-16,2.302585092994046
// within: 4 ulps
func.func @main(%a: tensor<7xf64>) -> tensor<7xf64> {
  %r = stablehlo.log %a : tensor<7xf64>
  return %r : tensor<7xf64>
}
