/// Indices of type ui32, the largest and the smallest among them.
// input: 7xi32=0,1,2,3,4,5,6
// input: 6x1xui32=0,6,7,4294967295,0,3
// result: 6xi32=0,6,6,6,0,3
func.func @main(%a: tensor<7xi32>, %b: tensor<6x1xui32>) -> tensor<6xi32> {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<7xi32>, tensor<6x1xui32>) -> tensor<6xi32>
  return %r : tensor<6xi32>
}
