// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

/// Each case breaks one constraint of gather, dynamic_gather or torch_index_select.

// gather_c1
func.func @gather_c1(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op each dimension of the operand must be an offset, collapsed or batching dimension, got 1 such dimensions for rank 2}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

// gather_c2
func.func @gather_c2(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op index_vector_dim must be at least 0 and at most the rank of start_indices, 2, got 3}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>,
    slice_sizes = array<i64: 1, 4>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

// gather_c2
func.func @gather_c2_2(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op index_vector_dim must be at least 0 and at most the rank of start_indices, 2, got -1}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = -1>,
    slice_sizes = array<i64: 1, 4>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

// gather_c3
func.func @gather_c3(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op start_index_map must have one entry for each element of an index vector, got 2 for 1}}
  // expected-note@below {{index vectors lie along dimension index_vector_dim = 1 of 'tensor<3x1xi32>'}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

/// Past the last dimension, an index vector has one element.
// gather_c3
func.func @gather_c3_2(%a: tensor<8x4xf32>, %b: tensor<3xi32>) {
  // expected-error@below {{'stablehlo.gather' op start_index_map must have one entry for each element of an index vector, got 2 for 1}}
  // expected-note@below {{index vectors lie along dimension index_vector_dim = 1 of 'tensor<3xi32>'}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4>
  }> : (tensor<8x4xf32>, tensor<3xi32>) -> tensor<3x4xf32>
  return
}

// -----

// gather_c4
func.func @gather_c4(%a: tensor<8x4x5xf32>, %b: tensor<3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op offset_dims must be in increasing order, got 1 after 2}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [2, 1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4, 5>
  }> : (tensor<8x4x5xf32>, tensor<3x1xi32>) -> tensor<3x4x5xf32>
  return
}

// -----

// gather_c4
func.func @gather_c4_2(%a: tensor<8x4x5xf32>, %b: tensor<3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op offset_dims must be unique, got 1 twice}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1, 1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4, 5>
  }> : (tensor<8x4x5xf32>, tensor<3x1xi32>) -> tensor<3x4x5xf32>
  return
}

// -----

// gather_c5
func.func @gather_c5(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op offset_dims must be dimensions of the result, in [0, 2), got 2}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

// gather_c6
func.func @gather_c6(%a: tensor<2x8x4xf32>, %b: tensor<2x3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op collapsed_slice_dims and operand_batching_dims must be unique, got 0 twice}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 4>
  }> : (tensor<2x8x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

// gather_c7
func.func @gather_c7(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op collapsed_slice_dims must be in increasing order, got 0 after 1}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1, 0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 1>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3xf32>
  return
}

// -----

// gather_c8
func.func @gather_c8(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op collapsed_slice_dims must be dimensions of the operand, in [0, 2), got 2}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [2], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

// gather_c9
func.func @gather_c9(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op slice_sizes must be at most 1 at collapsed_slice_dims, got 2 for dimension 0}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 2, 4>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

// gather_c10
func.func @gather_c10(%a: tensor<2x3x8xf32>, %b: tensor<2x3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op operand_batching_dims must be in increasing order, got 0 after 1}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [1, 0], start_indices_batching_dims = [1, 0], start_index_map = [2], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 1>
  }> : (tensor<2x3x8xf32>, tensor<2x3x1xi32>) -> tensor<2x3xf32>
  return
}

// -----

// gather_c11
func.func @gather_c11(%a: tensor<2x8x4xf32>, %b: tensor<2x3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op operand_batching_dims must be dimensions of the operand, in [0, 3), got 3}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [3], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 4>
  }> : (tensor<2x8x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

// gather_c12
func.func @gather_c12(%a: tensor<2x8x4xf32>, %b: tensor<2x3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op slice_sizes must be at most 1 at operand_batching_dims, got 2 for dimension 0}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>,
    slice_sizes = array<i64: 2, 1, 4>
  }> : (tensor<2x8x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

// gather_c13
func.func @gather_c13(%a: tensor<2x2x8xf32>, %b: tensor<2x3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op start_indices_batching_dims must be unique, got 0 twice}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 0], start_index_map = [2], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 1>
  }> : (tensor<2x2x8xf32>, tensor<2x3x1xi32>) -> tensor<2x3xf32>
  return
}

// -----

// gather_c14
func.func @gather_c14(%a: tensor<2x8x4xf32>, %b: tensor<2x3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op start_indices_batching_dims must be dimensions of start_indices, in [0, 3), got 3}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [3], start_index_map = [1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 4>
  }> : (tensor<2x8x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

// gather_c15
func.func @gather_c15(%a: tensor<2x8x4xf32>, %b: tensor<2x3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op start_indices_batching_dims must not contain index_vector_dim, 2, got [2]}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [2], start_index_map = [1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 4>
  }> : (tensor<2x8x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

// gather_c16
func.func @gather_c16(%a: tensor<2x8x4xf32>, %b: tensor<2x3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op operand_batching_dims and start_indices_batching_dims must have the same number of entries, got 1 and 2}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0, 1], start_index_map = [1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 4>
  }> : (tensor<2x8x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

// gather_c17
func.func @gather_c17(%a: tensor<2x8x4xf32>, %b: tensor<2x3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op batching dimensions 0 of the operand and 1 of start_indices must have equal sizes, got 2 and 3}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 4>
  }> : (tensor<2x8x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

// gather_c18
func.func @gather_c18(%a: tensor<2x8x4xf32>, %b: tensor<2x3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op start_index_map and operand_batching_dims must be unique, got 0 twice}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [0], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 4>
  }> : (tensor<2x8x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

// gather_c19
func.func @gather_c19(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op start_index_map must be dimensions of the operand, in [0, 2), got -1}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [-1], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

// gather_c20
func.func @gather_c20(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op slice_sizes must have one entry for each dimension of the operand, got 3 for 2}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4, 1>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

// gather_c21
func.func @gather_c21(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op slice_sizes must be in [0, size of the operand], got 5 for dimension 1 of 'tensor<8x4xf32>'}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 5>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x5xf32>
  return
}

// -----

// gather_c21
func.func @gather_c21_2(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op slice_sizes must be in [0, size of the operand], got -1 for dimension 1 of 'tensor<8x4xf32>'}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, -1>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return
}

// -----

// gather_c22
func.func @gather_c22(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op result must have the shape of the batch and offset dimensions, [3, 4], got 'tensor<4x3xf32>'}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<4x3xf32>
  return
}

// -----

// gather_c22
func.func @gather_c22_2(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op result must have 1 batch and 1 offset dimensions, got 'tensor<3x4x1xf32>'}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4x1xf32>
  return
}

// -----

// gather_c23
func.func @gather_c23(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>) {
  // expected-error@below {{'stablehlo.gather' op operand and result must have the same element type, got 'f32' and 'f64'}}
  %0 = "stablehlo.gather"(%a, %b) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf64>
  return
}

// -----

// dynamic_gather_c1
func.func @dynamic_gather_c1(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_gather' op each dimension of the operand must be an offset, collapsed or batching dimension, got 1 such dimensions for rank 2}}
  %0 = "stablehlo.dynamic_gather"(%a, %b, %c) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<2xi64>) -> tensor<3x?xf32>
  return
}

// -----

// dynamic_gather_c2
func.func @dynamic_gather_c2(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_gather' op index_vector_dim must be at least 0 and at most the rank of start_indices, 2, got 3}}
  %0 = "stablehlo.dynamic_gather"(%a, %b, %c) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<2xi64>) -> tensor<3x?xf32>
  return
}

// -----

// dynamic_gather_c3
func.func @dynamic_gather_c3(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_gather' op start_index_map must have one entry for each element of an index vector, got 2 for 1}}
  // expected-note@below {{index vectors lie along dimension index_vector_dim = 1 of 'tensor<3x1xi32>'}}
  %0 = "stablehlo.dynamic_gather"(%a, %b, %c) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<2xi64>) -> tensor<3x?xf32>
  return
}

// -----

// dynamic_gather_c4
func.func @dynamic_gather_c4(%a: tensor<8x4x5xf32>, %b: tensor<3x1xi32>, %c: tensor<3xi64>) {
  // expected-error@below {{'stablehlo.dynamic_gather' op offset_dims must be in increasing order, got 1 after 2}}
  %0 = "stablehlo.dynamic_gather"(%a, %b, %c) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [2, 1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
  }> : (tensor<8x4x5xf32>, tensor<3x1xi32>, tensor<3xi64>) -> tensor<3x?x?xf32>
  return
}

// -----

// dynamic_gather_c5
func.func @dynamic_gather_c5(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_gather' op offset_dims must be dimensions of the result, in [0, 2), got 2}}
  %0 = "stablehlo.dynamic_gather"(%a, %b, %c) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<2xi64>) -> tensor<3x?xf32>
  return
}

// -----

// dynamic_gather_c6
func.func @dynamic_gather_c6(%a: tensor<8x4x5xf32>, %b: tensor<3x1xi32>, %c: tensor<3xi64>) {
  // expected-error@below {{'stablehlo.dynamic_gather' op collapsed_slice_dims and operand_batching_dims must be unique, got 0 twice}}
  %0 = "stablehlo.dynamic_gather"(%a, %b, %c) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 0], start_index_map = [0], index_vector_dim = 1>
  }> : (tensor<8x4x5xf32>, tensor<3x1xi32>, tensor<3xi64>) -> tensor<3x?xf32>
  return
}

// -----

// dynamic_gather_c6
func.func @dynamic_gather_c6_2(%a: tensor<8x4x5xf32>, %b: tensor<3x1xi32>, %c: tensor<3xi64>) {
  // expected-error@below {{'stablehlo.dynamic_gather' op collapsed_slice_dims must be in increasing order, got 0 after 1}}
  %0 = "stablehlo.dynamic_gather"(%a, %b, %c) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [1, 0], start_index_map = [0], index_vector_dim = 1>
  }> : (tensor<8x4x5xf32>, tensor<3x1xi32>, tensor<3xi64>) -> tensor<3x?xf32>
  return
}

// -----

// dynamic_gather_c7
func.func @dynamic_gather_c7(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_gather' op collapsed_slice_dims must be dimensions of the operand, in [0, 2), got 2}}
  %0 = "stablehlo.dynamic_gather"(%a, %b, %c) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [2], start_index_map = [0], index_vector_dim = 1>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<2xi64>) -> tensor<3x?xf32>
  return
}

// -----

// dynamic_gather_c9
func.func @dynamic_gather_c9(%a: tensor<8x4xf32>, %b: tensor<3x2xi32>, %c: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_gather' op start_index_map and operand_batching_dims must be unique, got 0 twice}}
  %0 = "stablehlo.dynamic_gather"(%a, %b, %c) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 0], index_vector_dim = 1>
  }> : (tensor<8x4xf32>, tensor<3x2xi32>, tensor<2xi64>) -> tensor<3x?xf32>
  return
}

// -----

// dynamic_gather_c10
func.func @dynamic_gather_c10(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_gather' op start_index_map must be dimensions of the operand, in [0, 2), got 2}}
  %0 = "stablehlo.dynamic_gather"(%a, %b, %c) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [2], index_vector_dim = 1>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<2xi64>) -> tensor<3x?xf32>
  return
}

// -----

// dynamic_gather_c11
func.func @dynamic_gather_c11(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<3xi64>) {
  // expected-error@below {{'stablehlo.dynamic_gather' op slice_sizes must have one entry for each dimension of the operand, got 3 for 2}}
  %0 = "stablehlo.dynamic_gather"(%a, %b, %c) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3xi64>) -> tensor<3x?xf32>
  return
}

// -----

// dynamic_gather_c13
func.func @dynamic_gather_c13(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_gather' op result must have the shape of the batch and offset dimensions, [3, ?], got 'tensor<4x?xf32>'}}
  %0 = "stablehlo.dynamic_gather"(%a, %b, %c) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<2xi64>) -> tensor<4x?xf32>
  return
}

// -----

// dynamic_gather_c14
func.func @dynamic_gather_c14(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_gather' op operand and result must have the same element type, got 'f32' and 'i32'}}
  %0 = "stablehlo.dynamic_gather"(%a, %b, %c) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
  }> : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<2xi64>) -> tensor<3x?xi32>
  return
}

// -----

// torch_index_select
func.func @index_select_float_index(%a: tensor<5x4xf32>, %b: tensor<2xf32>) {
  // expected-error@below {{'stablehlo.torch_index_select' op index must have an integer element type, got 'f32'}}
  %0 = "stablehlo.torch_index_select"(%a, %b) <{dim = 0 : i64, batch_dims = 0 : i64}>
      : (tensor<5x4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// torch_index_select
func.func @index_select_batch_dims(%a: tensor<5x4xf32>, %b: tensor<2xi32>) {
  // expected-error@below {{'stablehlo.torch_index_select' op batch_dims must be at least 0 and at most the rank of the index, 1, got 2}}
  %0 = "stablehlo.torch_index_select"(%a, %b) <{dim = 0 : i64, batch_dims = 2 : i64}>
      : (tensor<5x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  return
}

// -----

// torch_index_select
func.func @index_select_dim(%a: tensor<5x4xf32>, %b: tensor<2xi32>) {
  // expected-error@below {{'stablehlo.torch_index_select' op dim must be in [batch_dims, rank of the operand), [0, 2), got 2}}
  %0 = "stablehlo.torch_index_select"(%a, %b) <{dim = 2 : i64, batch_dims = 0 : i64}>
      : (tensor<5x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  return
}

// -----

// torch_index_select
func.func @index_select_batch_sizes(%a: tensor<5x4xf32>, %b: tensor<2xi32>) {
  // expected-error@below {{'stablehlo.torch_index_select' op operand and index must have equal batch dimensions, got [5] and [2]}}
  %0 = "stablehlo.torch_index_select"(%a, %b) <{dim = 1 : i64, batch_dims = 1 : i64}>
      : (tensor<5x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  return
}

// -----

// torch_index_select
func.func @index_select_result(%a: tensor<5x4xf32>, %b: tensor<2xi32>) {
  // expected-error@below {{'stablehlo.torch_index_select' op result must have the operand's shape with dimension dim replaced by the index dimensions, [2, 4], got 'tensor<3x4xf32>'}}
  %0 = "stablehlo.torch_index_select"(%a, %b) <{dim = 0 : i64, batch_dims = 0 : i64}>
      : (tensor<5x4xf32>, tensor<2xi32>) -> tensor<3x4xf32>
  return
}

// -----

// torch_index_select
func.func @index_select_element(%a: tensor<5x4xf32>, %b: tensor<2xi32>) {
  // expected-error@below {{'stablehlo.torch_index_select' op operand and result must have the same element type, got 'f32' and 'i32'}}
  %0 = "stablehlo.torch_index_select"(%a, %b) <{dim = 0 : i64, batch_dims = 0 : i64}>
      : (tensor<5x4xf32>, tensor<2xi32>) -> tensor<2x4xi32>
  return
}

// -----

func.func @nothing_at_collapsed(%operand: tensor<5x3xf32>, %indices: tensor<4x1xi32>) -> tensor<4x3xf32> {
  // expected-error@below {{'stablehlo.gather' op slice_sizes must be 1 at collapsed_slice_dims unless the result is empty, got 0 for dimension 0 and result 'tensor<4x3xf32>'}}
  %0 = "stablehlo.gather"(%operand, %indices) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 0, 3>}> : (tensor<5x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
