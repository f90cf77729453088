/// Square roots of f64 are rounded correctly.
// input: 6xf64=2,-0.0,-1,inf,5e-324,3
// result: 6xf64=1.4142135623730951,-0.0,nan,inf,2.2227587494850775e-162,1.7320508075688772
func.func @main(%a: tensor<6xf64>) -> tensor<6xf64> {
  %r = stablehlo.sqrt %a : tensor<6xf64>
  return %r : tensor<6xf64>
}
