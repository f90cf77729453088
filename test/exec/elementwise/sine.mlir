/// Sines, also of large arguments, which need exact reduction.
// input: 9xf32=0,-0.0,1,3.1415927,1e5,-1e10,1e30,inf,1e-40
// result: 9xf32=0,-0.0,0.84147096,-8.742278e-08,0.0357488,0.48750603,-0.79116344,nan,1e-40
// within: 4 ulps
func.func @main(%a: tensor<9xf32>) -> tensor<9xf32> {
  %r = stablehlo.sine %a : tensor<9xf32>
  return %r : tensor<9xf32>
}
