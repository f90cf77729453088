/// Two contracted dimensions in another order on each side.
// input: 2x3x4xf32=1,-2,1,3,-2,-4,1,-3,1,-2,3,0,2,-1,-1,3,1,-3,-4,1,3,3,-4,4
// input: 4x2x5xf32=2,3,4,-3,-4,3,4,2,3,-1,4,-4,-4,-3,-2,2,-2,-4,4,-2,4,-2,2,2,1,-1,1,-4,-1,-1,3,-2,-3,2,0,-2,3,2,-2,0
// result: 3x5xf32=6,21,23,8,2,-26,23,51,7,26,17,19,36,26,-2
func.func @main(%a: tensor<2x3x4xf32>, %b: tensor<4x2x5xf32>) -> tensor<3x5xf32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [2, 0] x [0, 1] : (tensor<2x3x4xf32>, tensor<4x2x5xf32>) -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}
