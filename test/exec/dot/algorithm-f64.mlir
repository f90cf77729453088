/// f32 operands that are multiplied and summed in f64.
// input: 3x4xf32=7.999997,1.75,0.2499981,3.7499971,-6.250003,4.499999,-6,2.249999,4.249998,-5.250003,-4.75,-1.25
// input: 4x5xf32=-2,1,-6,-1,4,7,-5,5,-3,-2,5,-5,-4,-2,2,6,-4,-3,6,8
// result: 3x5xf32=19.999979,-16.99998,-51.499966,8.7499895,58.99996,27.499992,-7.7499943,77.250015,18.25,-28.000017,-76.500015,59.25001,-29.000004,13.5000105,7.999998
func.func @main(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = f64, rhs_precision_type = f64, accumulation_type = f64, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}
