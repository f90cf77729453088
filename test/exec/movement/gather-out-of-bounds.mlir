/// Indices below zero and beyond the end are clamped.
// input: 3x2xf32=1,2,3,4,5,6
// input: 4x1xi32=-1,3,-2147483648,2147483647
// result: 4x2xf32=1,2,5,6,1,2,5,6
func.func @main(%a: tensor<3x2xf32>, %b: tensor<4x1xi32>) -> tensor<4x2xf32> {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>, indices_are_sorted = false}> : (tensor<3x2xf32>, tensor<4x1xi32>) -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}
