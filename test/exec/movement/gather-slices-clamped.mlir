/// A slice that would pass the end begins earlier.
// input: 5xi32=1,2,3,4,5
// input: 3x1xi32=0,3,4
// result: 3x3xi32=1,2,3,3,4,5,3,4,5
func.func @main(%a: tensor<5xi32>, %b: tensor<3x1xi32>) -> tensor<3x3xi32> {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 3>, indices_are_sorted = false}> : (tensor<5xi32>, tensor<3x1xi32>) -> tensor<3x3xi32>
  return %r : tensor<3x3xi32>
}
