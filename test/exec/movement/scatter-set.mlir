/// Places are set, not added to.
// input: 4xi32=1,2,3,4
// input: 2x1xi32=2,0
// input: 2xi32=10,20
// result: 4xi32=20,2,10,4
func.func @main(%a: tensor<4xi32>, %b: tensor<2x1xi32>, %c: tensor<2xi32>) -> tensor<4xi32> {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    stablehlo.return %y : tensor<i32>
  }) : (tensor<4xi32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}
