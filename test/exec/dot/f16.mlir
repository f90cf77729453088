/// A product of f16 whose sums are exact.
// input: 3x4xf16=0,0,2,4,-4,-3,3,4,-2,-2,3,-1
// input: 4x5xf16=-2,3,-2,-1,1,0,-4,-4,3,2,3,0,3,-2,0,3,-3,-2,-3,0
// result: 3x5xf16=18,-12,-2,-16,0,29,-12,21,-23,-10,10,5,23,-7,-6
func.func @main(%a: tensor<3x4xf16>, %b: tensor<4x5xf16>) -> tensor<3x5xf16> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4xf16>, tensor<4x5xf16>) -> tensor<3x5xf16>
  return %r : tensor<3x5xf16>
}
