/// The same place twice gets both sums.
// input: 4xi32=0,0,0,0
// input: 5x1xi32=1,1,2,1,1
// input: 5xi32=1,2,4,8,16
// result: 4xi32=0,27,4,0
func.func @main(%a: tensor<4xi32>, %b: tensor<5x1xi32>, %c: tensor<5xi32>) -> tensor<4xi32> {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<4xi32>, tensor<5x1xi32>, tensor<5xi32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}
