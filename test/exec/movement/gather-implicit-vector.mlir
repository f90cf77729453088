/// Indices without a dimension of index vectors.
// input: 10xf32=0,0.25,0.5,0.75,1,1.25,1.5,1.75,2,2.25
// input: 2x3xi64=9,0,3,-1,10,5
// result: 2x3xf32=2.25,0,0.75,0,2.25,1.25
func.func @main(%a: tensor<10xf32>, %b: tensor<2x3xi64>) -> tensor<2x3xf32> {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<10xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}
