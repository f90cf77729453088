/// f8 operands of two types, with sums that may be imprecise.
// input: 3x4xf8E4M3FN=2,-4,-2,-2,1,-4,-1,-2,4,-4,1,-2
// input: 4x5xf8E5M2=3,-1,-3,1,-2,2,2,-1,0,1,-2,0,3,-2,0,-2,2,0,2,2
// result: 3x5xf32=6,-14,-8,2,-12,1,-13,-2,-1,-10,6,-16,-5,-2,-16
func.func @main(%a: tensor<3x4xf8E4M3FN>, %b: tensor<4x5xf8E5M2>) -> tensor<3x5xf32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = f8E4M3FN, rhs_precision_type = f8E5M2, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = true> : (tensor<3x4xf8E4M3FN>, tensor<4x5xf8E5M2>) -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}
