/// No index vector has an entry: every slice starts at 0.
// input: 2x3xi32=0,1,2,3,4,5
// input: 4x0xi32=
// result: 4x2xi32=0,1,0,1,0,1,0,1
func.func @main(%a: tensor<2x3xi32>, %b: tensor<4x0xi32>) -> tensor<4x2xi32> {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>, indices_are_sorted = false}> : (tensor<2x3xi32>, tensor<4x0xi32>) -> tensor<4x2xi32>
  return %r : tensor<4x2xi32>
}
