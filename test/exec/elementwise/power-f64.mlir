/// Powers of f64: signs, ends of the range, subnormal results.
// input: 13xf64=2,-3,-3,0,-0.0,10,10,0.5,1.0000000001,-2,inf,1,7
// input: 13xf64=0.5,3,0.5,-1,-3,308.2,-320,-1000,10000000000.0,inf,-2,nan,0
// result: 13xf64=1.4142135623730951,-27,nan,inf,-inf,1.584893192461072e+308,1e-320,1.0715086071862673e+301,2.7182820532347876,inf,0,1,1
// within: 1 ulps
func.func @main(%a: tensor<13xf64>, %b: tensor<13xf64>) -> tensor<13xf64> {
  %r = stablehlo.power %a, %b : tensor<13xf64>
  return %r : tensor<13xf64>
}
