/// Hyperbolic tangents: small numbers are kept, large ones saturate.
// input: 10xf32=0,-0.0,1e-10,-1e-40,0.5,20,-20,inf,-inf,nan
// result: 10xf32=0,-0.0,1e-10,-1e-40,0.46211717,1,-1,1,-1,nan
// within: 4 ulps
func.func @main(%a: tensor<10xf32>) -> tensor<10xf32> {
  %r = stablehlo.tanh %a : tensor<10xf32>
  return %r : tensor<10xf32>
}
