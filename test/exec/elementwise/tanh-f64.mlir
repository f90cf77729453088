/// Hyperbolic tangents of f64.
// input: 7xf64=0,-0.0,1e-300,0.5,40,-inf,nan
// result: 7xf64=0,-0.0,1e-300,0.46211715726000974,1,-1,nan
// within: 4 ulps
func.func @main(%a: tensor<7xf64>) -> tensor<7xf64> {
  %r = stablehlo.tanh %a : tensor<7xf64>
  return %r : tensor<7xf64>
}
