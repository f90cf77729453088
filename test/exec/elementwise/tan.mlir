/// Tangents, close to a pole and to zero.
// input: 8xf32=0,-0.0,1,1.5707964,3.1415927,1e5,inf,1e-40
// result: 8xf32=0,-0.0,1.5574077,-2.2877332e+07,8.742278e-08,-0.035771664,nan,1e-40
// within: 4 ulps
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %r = stablehlo.tan %a : tensor<8xf32>
  return %r : tensor<8xf32>
}
