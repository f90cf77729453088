/// Indices of 64 bits are not cut to 32 before they are clamped.
// input: 3x2xf32=1,2,3,4,5,6
// input: 3x1xi64=4294967296,-4294967295,1
// result: 3x2xf32=5,6,1,2,3,4
func.func @main(%a: tensor<3x2xf32>, %b: tensor<3x1xi64>) -> tensor<3x2xf32> {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>, indices_are_sorted = false}> : (tensor<3x2xf32>, tensor<3x1xi64>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}
