/// Cube roots, also of negative numbers.
// input: 7xf32=27,-8,0,-0.0,inf,2,1e-40
// result: 7xf32=3,-2,0,-0.0,inf,1.2599211,4.6415806e-14
// within: 4 ulps
func.func @main(%a: tensor<7xf32>) -> tensor<7xf32> {
  %r = stablehlo.cbrt %a : tensor<7xf32>
  return %r : tensor<7xf32>
}
