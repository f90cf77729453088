/// Exponentials at the edges: overflow, underflow to subnormal numbers, one.
// input: 12xf32=0,-0.0,88.72,88.73,-87.5,-103,-104,-inf,inf,nan,1,1e-10
// result: 12xf32=1,1,3.3931806e+38,inf,9.982351e-39,1e-45,0,0,inf,nan,2.7182817,1
// within: 4 ulps
func.func @main(%a: tensor<12xf32>) -> tensor<12xf32> {
  %r = stablehlo.exponential %a : tensor<12xf32>
  return %r : tensor<12xf32>
}
