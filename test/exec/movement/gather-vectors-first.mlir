/// Index vectors along the first dimension of the indices.
// input: 3x4xi32=0,1,2,3,4,5,6,7,8,9,10,11
// input: 2x4xi32=0,2,9,-1,3,1,0,2
// result: 4xi32=3,9,8,2
func.func @main(%a: tensor<3x4xi32>, %b: tensor<2x4xi32>) -> tensor<4xi32> {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0, 1], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0, 1], index_vector_dim = 0>, slice_sizes = array<i64: 1, 1>, indices_are_sorted = false}> : (tensor<3x4xi32>, tensor<2x4xi32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}
