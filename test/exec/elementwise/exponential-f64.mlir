/// Exponentials of f64 have more than the digits of f32.
// input: 7xf64=0,1,-1,709,710,-745,nan
// result: 7xf64=1,2.718281828459045,0.36787944117144233,8.218407461554972e+307,inf,5e-324,nan
// within: 4 ulps
func.func @main(%a: tensor<7xf64>) -> tensor<7xf64> {
  %r = stablehlo.exponential %a : tensor<7xf64>
  return %r : tensor<7xf64>
}
