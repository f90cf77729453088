/// Rows are added to rows.
// input: 3x2xf32=0,0,1,1,2,2
// input: 2x1xi32=2,2
// input: 2x2xf32=10,20,1,2
// result: 3x2xf32=0,0,1,1,13,24
func.func @main(%a: tensor<3x2xf32>, %b: tensor<2x1xi32>, %c: tensor<2x2xf32>) -> tensor<3x2xf32> {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %0 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<3x2xf32>, tensor<2x1xi32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}
