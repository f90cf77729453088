/// A window that is partly out of bounds is dropped as a whole.
// input: 4xi32=1,2,3,4
// input: 2x1xi32=3,0
// input: 2x2xi32=10,20,30,40
// result: 4xi32=31,42,3,4
func.func @main(%a: tensor<4xi32>, %b: tensor<2x1xi32>, %c: tensor<2x2xi32>) -> tensor<4xi32> {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<4xi32>, tensor<2x1xi32>, tensor<2x2xi32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}
