/// Quadrants, signed zeros and tiny angles of f64.
// input: 14xf64=0,0,-0.0,-0.0,1,-1,inf,-inf,1,nan,3,-1,1e-300,-1e+300
// input: 14xf64=0,-0.0,0,-0.0,0,0,inf,-inf,-inf,1,4,-1,10000000000.0,1e-300
// result: 14xf64=0,3.141592653589793,-0.0,-3.141592653589793,1.5707963267948966,-1.5707963267948966,0.7853981633974483,-2.356194490192345,3.141592653589793,nan,0.6435011087932844,-2.356194490192345,1e-310,-1.5707963267948966
// within: 1 ulps
func.func @main(%a: tensor<14xf64>, %b: tensor<14xf64>) -> tensor<14xf64> {
  %r = stablehlo.atan2 %a, %b : tensor<14xf64>
  return %r : tensor<14xf64>
}
