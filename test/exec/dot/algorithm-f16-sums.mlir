/// The sum is rounded to the accumulation type, f16, before the result's type.
// input: 3x4xf32=495,858,-1584,-33,99,1353,-1980,-594,-363,198,1155,33
// input: 4x5xf32=-2,1,-6,-1,4,7,-5,5,-3,-2,5,-5,-4,-2,2,6,-4,-3,6,8
// result: 3x5xf32=-3102,4256,7756,-99,-3168,-4192,5608,15872,-3762,-11024,8084,-7260,-1551,-2344,726
func.func @main(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = f16, rhs_precision_type = f16, accumulation_type = f16, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}
