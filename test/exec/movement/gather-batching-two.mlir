/// Two batching dimensions, in another order in the indices.
// input: 2x3x7xi32=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41
// input: 2x3x2xi32=0,1,2,3,7,5,6,5,4,3,-1,1
// result: 2x3x2xi32=0,22,9,31,20,40,6,26,11,31,14,36
func.func @main(%a: tensor<2x3x7xi32>, %b: tensor<2x3x2xi32>) -> tensor<2x3x2xi32> {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [2, 1], start_index_map = [2], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 1>, indices_are_sorted = false}> : (tensor<2x3x7xi32>, tensor<2x3x2xi32>) -> tensor<2x3x2xi32>
  return %r : tensor<2x3x2xi32>
}
