/// One index for each row, which is a batching dimension.
// input: 3x4xi32=0,1,2,3,10,11,12,13,20,21,22,23
// input: 3x1xi32=3,0,9
// result: 3xi32=3,10,23
func.func @main(%a: tensor<3x4xi32>, %b: tensor<3x1xi32>) -> tensor<3xi32> {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>, indices_are_sorted = false}> : (tensor<3x4xi32>, tensor<3x1xi32>) -> tensor<3xi32>
  return %r : tensor<3xi32>
}
