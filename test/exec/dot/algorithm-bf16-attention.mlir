/// bf16 operands with the algorithm that jax.nn.dot_product_attention names.
// input: 3x4xbf16=5,1,5,-4,-6,3,-4,3,-5,0,5,-4
// input: 4x5xbf16=-2,1,-6,-1,4,7,-5,5,-3,-2,5,-5,-4,-2,2,6,-4,-3,6,8
// result: 3x5xf32=-2,-9,-33,-42,-4,31,-13,58,23,-14,11,-14,22,-29,-42
func.func @main(%a: tensor<3x4xbf16>, %b: tensor<4x5xbf16>) -> tensor<3x5xf32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3x4xbf16>, tensor<4x5xbf16>) -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}
