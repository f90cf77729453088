/// f32 operands are rounded to bf16, the algorithm's type, before they are multiplied.
// input: 3x4xf32=4.7558594,6.748047,-7.998047,-6.998047,-1.0058594,1.0039062,4.9941406,-2.7558594,-9.498047,-5.7539062,-1.0019531,-2.4980469
// input: 4x5xf32=-6,-7,3,8,3,6,-1,-8,3,1,4,2,0,-8,3,-5,0,-6,1,-1
// result: 3x5xf32=15,-56,2.25,115.25,4,45.796875,16.054688,5.4765625,-47.8125,15.7265625,31,70.25,32.5,-87.75,-34.75
func.func @main(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}
