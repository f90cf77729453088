/// No update changes nothing.
// input: 2xf32=1,-0.0
// input: 0x1xi32=
// input: 0xf32=
// result: 2xf32=1,-0.0
func.func @main(%a: tensor<2xf32>, %b: tensor<0x1xi32>, %c: tensor<0xf32>) -> tensor<2xf32> {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %0 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<2xf32>, tensor<0x1xi32>, tensor<0xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
