/// Square roots are rounded correctly; of -0 it is -0.
// input: 6xf32=2,-0.0,-1,inf,1e-45,1e-40
// result: 6xf32=1.4142135,-0.0,nan,inf,3.743392e-23,9.999973e-21
func.func @main(%a: tensor<6xf32>) -> tensor<6xf32> {
  %r = stablehlo.sqrt %a : tensor<6xf32>
  return %r : tensor<6xf32>
}
