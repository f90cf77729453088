/// Logarithms of zero, negative, subnormal and close to one.
// input: 10xf32=1,0,-0.0,-1,inf,1e-40,1.0000001,0.99999994,2.7182817,nan
// result: 10xf32=0,-inf,-inf,nan,inf,-92.10341,1.1920928e-07,-5.9604645e-08,0.99999994,nan
// within: 4 ulps
func.func @main(%a: tensor<10xf32>) -> tensor<10xf32> {
  %r = stablehlo.log %a : tensor<10xf32>
  return %r : tensor<10xf32>
}
