/// Sums into places by index.
// input: 4xi32=1,2,3,4
// input: 2x1xi32=3,0
// input: 2xi32=10,20
// result: 4xi32=21,2,3,14
func.func @main(%a: tensor<4xi32>, %b: tensor<2x1xi32>, %c: tensor<2xi32>) -> tensor<4xi32> {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<4xi32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}
