/// Rows of each batch, with the window before the batch.
// input: 2x4x3xf32=0,0.125,0.25,0.375,0.5,0.625,0.75,0.875,1,1.125,1.25,1.375,1.5,1.625,1.75,1.875,2,2.125,2.25,2.375,2.5,2.625,2.75,2.875
// input: 2x3xi32=3,0,4,1,1,-1
// result: 3x2x3xf32=1.125,0,1.125,1.875,1.875,1.5,1.25,0.125,1.25,2,2,1.625,1.375,0.25,1.375,2.125,2.125,1.75
func.func @main(%a: tensor<2x4x3xf32>, %b: tensor<2x3xi32>) -> tensor<3x2x3xf32> {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 3>, indices_are_sorted = false}> : (tensor<2x4x3xf32>, tensor<2x3xi32>) -> tensor<3x2x3xf32>
  return %r : tensor<3x2x3xf32>
}
