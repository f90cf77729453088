/// Cosines, also of large arguments, which need exact reduction.
// input: 9xf32=0,-0.0,1,1.5707964,1e5,-1e10,1e30,-inf,1e-40
// result: 9xf32=1,1,0.5403023,-4.371139e-08,-0.9993608,0.87311965,-0.6116048,nan,1
// within: 4 ulps
func.func @main(%a: tensor<9xf32>) -> tensor<9xf32> {
  %r = stablehlo.cosine %a : tensor<9xf32>
  return %r : tensor<9xf32>
}
