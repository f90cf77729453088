/// Zero times NaN and infinity is not skipped.
// input: 2x2xf32=0,1,0,0
// input: 2x2xf32=nan,inf,1,2
// result: 2x2xf32=nan
func.func @main(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}
