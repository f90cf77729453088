/// The sum in f32 is rounded to the result's bf16.
// input: 3x4xbf16=85,17,85,-68,-102,51,-68,51,-85,0,85,-68
// input: 4x5xbf16=-6,3,-18,-3,12,21,-15,15,-9,-6,15,-15,-12,-6,6,18,-12,-9,18,24
// result: 3x5xbf16=-102,-460,-1680,-2144,-204,1584,-664,2960,1176,-712,560,-712,1120,-1480,-2144
func.func @main(%a: tensor<3x4xbf16>, %b: tensor<4x5xbf16>) -> tensor<3x5xbf16> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3x4xbf16>, tensor<4x5xbf16>) -> tensor<3x5xbf16>
  return %r : tensor<3x5xbf16>
}
