/// Reciprocal roots: of zeros infinity, of infinity zero.
// input: 7xf32=4,0,inf,-1,2,1e-40,nan
// result: 7xf32=0.5,inf,0,nan,0.70710677,1.0000027e+20,nan
// within: 4 ulps
func.func @main(%a: tensor<7xf32>) -> tensor<7xf32> {
  %r = stablehlo.rsqrt %a : tensor<7xf32>
  return %r : tensor<7xf32>
}
