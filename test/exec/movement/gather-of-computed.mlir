/// A table that is computed, then a conversion of what is gathered.
// input: 4x2xi32=0,1,2,3,4,5,6,7
// input: 3x1xi32=3,9,0
// result: 3x2xf32=36,49,36,49,0,1
func.func @main(%a: tensor<4x2xi32>, %b: tensor<3x1xi32>) -> tensor<3x2xf32> {
  %t = stablehlo.multiply %a, %a : tensor<4x2xi32>
  %r = "stablehlo.gather"(%t, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>, indices_are_sorted = false}> : (tensor<4x2xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>
  %c = stablehlo.convert %r : (tensor<3x2xi32>) -> tensor<3x2xf32>
  return %c : tensor<3x2xf32>
}
