/// log(1 + x) keeps small numbers and the sign of zero.
// input: 9xf32=1e-10,-1e-10,-0.0,-1,-2,inf,1,1e-40,nan
// result: 9xf32=1e-10,-1e-10,-0.0,-inf,nan,inf,0.6931472,1e-40,nan
// within: 4 ulps
func.func @main(%a: tensor<9xf32>) -> tensor<9xf32> {
  %r = stablehlo.log_plus_one %a : tensor<9xf32>
  return %r : tensor<9xf32>
}
