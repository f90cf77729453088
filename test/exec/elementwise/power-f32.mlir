/// Powers with zeros, infinities, NaN, negative bases and integral exponents.
// input: 14xf32=0,0,0,-0.0,-2,-2,-8,1,nan,inf,-inf,2,2,-1
// input: 14xf32=0,-1,2,-3,3,2,0.33333334,nan,0,-1,3,-149,127,inf
// result: 14xf32=1,inf,0,-inf,-8,4,nan,1,1,0,-inf,1e-45,1.7014118e+38,1
// within: 4 ulps
func.func @main(%a: tensor<14xf32>, %b: tensor<14xf32>) -> tensor<14xf32> {
  %r = stablehlo.power %a, %b : tensor<14xf32>
  return %r : tensor<14xf32>
}
