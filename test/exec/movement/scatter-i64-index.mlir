/// Indices of 64 bits are not cut to 32.
// input: 3xi32=1,2,3
// input: 2x1xi64=4294967296,-4294967295
// input: 2xi32=10,20
// result: 3xi32=1,2,3
func.func @main(%a: tensor<3xi32>, %b: tensor<2x1xi64>, %c: tensor<2xi32>) -> tensor<3xi32> {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %0 = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<3xi32>, tensor<2x1xi64>, tensor<2xi32>) -> tensor<3xi32>
  return %r : tensor<3xi32>
}
