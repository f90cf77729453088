/// No index gives no row.
// input: 3x2xf32=1,2,3,4,5,6
// input: 0x1xi32=
// result: 0x2xf32=
func.func @main(%a: tensor<3x2xf32>, %b: tensor<0x1xi32>) -> tensor<0x2xf32> {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>, indices_are_sorted = false}> : (tensor<3x2xf32>, tensor<0x1xi32>) -> tensor<0x2xf32>
  return %r : tensor<0x2xf32>
}
