/// Values that tf32 holds are multiplied exactly.
// input: 3x4xf32=41.375,12.25,-51.125,-102.625,19.5,-62.75,-113,101.125,4.625,-15.5,-75.875,-59.875
// input: 4x5xf32=-2,1,-6,-1,4,7,-5,5,-3,-2,5,-5,-4,-2,2,6,-4,-3,6,8
// result: 3x5xf32=-868.375,646.25,325.375,-591.625,-782.25,-436.5,493.75,-282.125,1001.5,786.5,-856.375,701,377.875,-165.625,-581.25
func.func @main(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}
