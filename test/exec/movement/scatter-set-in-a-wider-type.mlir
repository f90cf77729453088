/// A scatter of one row whose body computes in a wider type than that of its input.
// input: 3x2xi8=1,-2,3,-4,5,-6
// input: 1x2xi8=-128,127
// result: 3x2xi32=1,-2,-128,127,5,-6
func.func @main(%x: tensor<3x2xi8>, %u: tensor<1x2xi8>) -> tensor<3x2xi32> {
  %i = stablehlo.constant dense<1> : tensor<1x1xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  }) : (tensor<3x2xi8>, tensor<1x1xi32>, tensor<1x2xi8>) -> tensor<3x2xi32>
  return %r : tensor<3x2xi32>
}
