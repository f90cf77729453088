/// Points of a matrix by pairs of indices, in the order column, row.
// input: 2x3xi32=0,1,2,10,11,12
// input: 3x2xi32=2,1,0,0,1,1
// result: 3xi32=12,0,11
func.func @main(%a: tensor<2x3xi32>, %b: tensor<3x2xi32>) -> tensor<3xi32> {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [1, 0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>, indices_are_sorted = false}> : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<3xi32>
  return %r : tensor<3xi32>
}
