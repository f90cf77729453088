/// An or of booleans into places.
// input: 3xi1=false,true,false
// input: 3x1xi32=0,0,1
// input: 3xi1=false,true,false
// result: 3xi1=true,true,false
func.func @main(%a: tensor<3xi1>, %b: tensor<3x1xi32>, %c: tensor<3xi1>) -> tensor<3xi1> {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%x: tensor<i1>, %y: tensor<i1>):
    %0 = stablehlo.or %x, %y : tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<3xi1>, tensor<3x1xi32>, tensor<3xi1>) -> tensor<3xi1>
  return %r : tensor<3xi1>
}
