/// exp(x) - 1 keeps small numbers and the sign of zero.
// input: 10xf32=1e-10,-1e-10,-0.0,0,-100,1,89,-inf,nan,1e-40
// result: 10xf32=1e-10,-1e-10,-0.0,0,-1,1.7182819,inf,-1,nan,1e-40
// within: 4 ulps
func.func @main(%a: tensor<10xf32>) -> tensor<10xf32> {
  %r = stablehlo.exponential_minus_one %a : tensor<10xf32>
  return %r : tensor<10xf32>
}
