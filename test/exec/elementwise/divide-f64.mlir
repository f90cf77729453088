/// Quotients of f64 are rounded once.
// input: 6xf64=0.1,1e308,1,5e-324,inf,-0.0
// input: 6xf64=0.2,1e308,3,5e-324,inf,0
// result: 6xf64=0.5,1,0.3333333333333333,1,nan,nan
func.func @main(%a: tensor<6xf64>, %b: tensor<6xf64>) -> tensor<6xf64> {
  %r = stablehlo.divide %a, %b : tensor<6xf64>
  return %r : tensor<6xf64>
}
