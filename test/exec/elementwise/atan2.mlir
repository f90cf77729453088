/// Quadrants and signed zeros of atan2.
// input: 12xf32=0,0,-0.0,-0.0,1,-1,inf,-inf,1,nan,3,-1
// input: 12xf32=0,-0.0,0,-0.0,0,0,inf,-inf,-inf,1,4,-1
// result: 12xf32=0,3.1415927,-0.0,-3.1415927,1.5707964,-1.5707964,0.7853982,-2.3561945,3.1415927,nan,0.6435011,-2.3561945
// within: 4 ulps
func.func @main(%a: tensor<12xf32>, %b: tensor<12xf32>) -> tensor<12xf32> {
  %r = stablehlo.atan2 %a, %b : tensor<12xf32>
  return %r : tensor<12xf32>
}
