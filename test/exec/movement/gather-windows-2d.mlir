/// Windows of two dimensions, clamped in both.
// input: 5x6xi32=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29
// input: 4x2xi32=0,0,4,5,-2,3,2,-7
// result: 4x3x2xi32=0,1,6,7,12,13,16,17,22,23,28,29,3,4,9,10,15,16,12,13,18,19,24,25
func.func @main(%a: tensor<5x6xi32>, %b: tensor<4x2xi32>) -> tensor<4x3x2xi32> {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 3, 2>, indices_are_sorted = false}> : (tensor<5x6xi32>, tensor<4x2xi32>) -> tensor<4x3x2xi32>
  return %r : tensor<4x3x2xi32>
}
