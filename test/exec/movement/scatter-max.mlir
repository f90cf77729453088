/// Maxima into places, with NaN.
// input: 3xf32=1,5,nan
// input: 4x1xi32=0,1,2,0
// input: 4xf32=2,nan,9,-3
// result: 3xf32=2,nan,nan
func.func @main(%a: tensor<3xf32>, %b: tensor<4x1xi32>, %c: tensor<4xf32>) -> tensor<3xf32> {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %0 = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<3xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
