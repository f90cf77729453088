/// 4-bit integers with a result of 32 bits.
// input: 3x4xi4=0,0,2,4,-4,-3,3,4,-2,-2,3,-1
// input: 4x5xi4=-2,3,-2,-1,1,0,-4,-4,3,2,3,0,3,-2,0,3,-3,-2,-3,0
// result: 3x5xi32=18,-12,-2,-16,0,29,-12,21,-23,-10,10,5,23,-7,-6
func.func @main(%a: tensor<3x4xi4>, %b: tensor<4x5xi4>) -> tensor<3x5xi32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4xi4>, tensor<4x5xi4>) -> tensor<3x5xi32>
  return %r : tensor<3x5xi32>
}
