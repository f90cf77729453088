/// A window of size 0.
// input: 2x3xi32=0,1,2,3,4,5
// input: 2x1xi32=1,0
// result: 2x0xi32=
func.func @main(%a: tensor<2x3xi32>, %b: tensor<2x1xi32>) -> tensor<2x0xi32> {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 0>, indices_are_sorted = false}> : (tensor<2x3xi32>, tensor<2x1xi32>) -> tensor<2x0xi32>
  return %r : tensor<2x0xi32>
}
