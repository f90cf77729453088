/// Index vectors between two batch dimensions, and windows before, between and after them.
// input: 3x4x5xi32=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59
// input: 3x2x2xi32=0,2,1,9,1,0,-3,1,2,3,0,3
// result: 2x3x4x2x3xi32=20,21,22,22,23,24,25,26,27,27,28,29,30,31,32,32,33,34,35,36,37,37,38,39,1,2,3,20,21,22,6,7,8,25,26,27,11,12,13,30,31,32,16,17,18,35,36,37,2,3,4,22,23,24,7,8,9,27,28,29,12,13,14,32,33,34,17,18,19,37,38,39,40,41,42,42,43,44,45,46,47,47,48,49,50,51,52,52,53,54,55,56,57,57,58,59,21,22,23,40,41,42,26,27,28,45,46,47,31,32,33,50,51,52,36,37,38,55,56,57,22,23,24,42,43,44,27,28,29,47,48,49,32,33,34,52,53,54,37,38,39,57,58,59
func.func @main(%a: tensor<3x4x5xi32>, %b: tensor<3x2x2xi32>) -> tensor<2x3x4x2x3xi32> {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 2, 4], collapsed_slice_dims = [], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [2, 0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 4, 3>, indices_are_sorted = false}> : (tensor<3x4x5xi32>, tensor<3x2x2xi32>) -> tensor<2x3x4x2x3xi32>
  return %r : tensor<2x3x4x2x3xi32>
}
