/// Tangents of f64.
// input: 7xf64=0,-0.0,1,1.5707963267948966,-2.5,3000000000000.0,-inf
// result: 7xf64=0,-0.0,1.5574077246549023,1.633123935319537e+16,0.7470222972386603,2.3515868346476507,nan
// within: 1 ulps
func.func @main(%a: tensor<7xf64>) -> tensor<7xf64> {
  %r = stablehlo.tan %a : tensor<7xf64>
  return %r : tensor<7xf64>
}
