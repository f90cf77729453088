/// Sines of f64.
// input: 6xf64=0,-0.0,1,3.141592653589793,1e5,inf
// result: 6xf64=0,-0.0,0.8414709848078965,1.2246467991473532e-16,0.03574879797201651,nan
// within: 4 ulps
func.func @main(%a: tensor<6xf64>) -> tensor<6xf64> {
  %r = stablehlo.sine %a : tensor<6xf64>
  return %r : tensor<6xf64>
}
