// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

/// Each case breaks one constraint of scatter.

// scatter_c1
func.func @scatter_c1(%a: tensor<8x4xf32>, %b: tensor<8x5xf32>, %c: tensor<3x1xi32>, %d: tensor<3x4xf32>, %e: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op inputs must have the same shape, got 'tensor<8x4xf32>' for input 0 and 'tensor<8x5xf32>' for input 1}}
  %0:2 = "stablehlo.scatter"(%a, %b, %c, %d, %e) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<f32>, %x3: tensor<f32>):
    stablehlo.return %x0, %x1 : tensor<f32>, tensor<f32>
  }) : (tensor<8x4xf32>, tensor<8x5xf32>, tensor<3x1xi32>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<8x4xf32>, tensor<8x5xf32>)
  return
}

// -----

// scatter_c2
func.func @scatter_c2(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op each dimension of the inputs must be a window, inserted or batching dimension, got 1 such dimensions for rank 2}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// scatter_c3
func.func @scatter_c3(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>, %c: tensor<3x1xi32>, %d: tensor<3x4xf32>, %e: tensor<3x3xf32>) {
  // expected-error@below {{'stablehlo.scatter' op updates must have the same shape, got 'tensor<3x4xf32>' for update 0 and 'tensor<3x3xf32>' for update 1}}
  %0:2 = "stablehlo.scatter"(%a, %b, %c, %d, %e) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<f32>, %x3: tensor<f32>):
    stablehlo.return %x0, %x1 : tensor<f32>, tensor<f32>
  }) : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>, tensor<3x3xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
  return
}

// -----

// scatter_c4
func.func @scatter_c4(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<3x4x1xf32>) {
  // expected-error@below {{'stablehlo.scatter' op updates must have 1 scatter and 1 window dimensions, got 'tensor<3x4x1xf32>'}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4x1xf32>) -> tensor<8x4xf32>
  return
}

// -----

// scatter_c4
func.func @scatter_c4_2(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<3x5xf32>) {
  // expected-error@below {{'stablehlo.scatter' op window dimension 1 of the updates must be at most as large as in the inputs, 4, got 5}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x5xf32>) -> tensor<8x4xf32>
  return
}

// -----

// scatter_c4
func.func @scatter_c4_3(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<2x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op scatter dimension 0 of the updates must have the size of the corresponding dimension of scatter_indices, 3, got 2}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<2x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// scatter_c5
func.func @scatter_c5(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<3x4xf32>, %d: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op must have inputs, scatter_indices and one update for each input, 3 operands in total, got 4}}
  %0 = "stablehlo.scatter"(%a, %b, %c, %d) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// scatter_c5
func.func @scatter_c5_2(%a: tensor<3x1xi32>) {
  // expected-error@below {{'stablehlo.scatter' op must have at least one input, got none}}
  %0 = "stablehlo.scatter"(%a) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<3x1xi32>) -> tensor<8x4xf32>
  return
}

// -----

// scatter_c6
func.func @scatter_c6(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<3x4xf64>) {
  // expected-error@below {{'stablehlo.scatter' op update 0 must have the element type of its input, 'f32', got 'f64'}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf64>) -> tensor<8x4xf32>
  return
}

// -----

// scatter_c7
func.func @scatter_c7(%a: tensor<8x4x5xf32>, %b: tensor<3x1xi32>, %c: tensor<3x4x5xf32>) {
  // expected-error@below {{'stablehlo.scatter' op update_window_dims must be in increasing order, got 1 after 2}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2, 1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8x4x5xf32>, tensor<3x1xi32>, tensor<3x4x5xf32>) -> tensor<8x4x5xf32>
  return
}

// -----

// scatter_c7
func.func @scatter_c7_2(%a: tensor<8x4x5xf32>, %b: tensor<3x1xi32>, %c: tensor<3x4x5xf32>) {
  // expected-error@below {{'stablehlo.scatter' op update_window_dims must be unique, got 1 twice}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8x4x5xf32>, tensor<3x1xi32>, tensor<3x4x5xf32>) -> tensor<8x4x5xf32>
  return
}

// -----

// scatter_c8
func.func @scatter_c8(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op update_window_dims must be dimensions of the updates, in [0, 2), got 2}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// scatter_c9
func.func @scatter_c9(%a: tensor<2x8x4xf32>, %b: tensor<2x3x1xi32>, %c: tensor<2x3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op inserted_window_dims and input_batching_dims must be unique, got 0 twice}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<2x8x4xf32>, tensor<2x3x1xi32>, tensor<2x3x4xf32>) -> tensor<2x8x4xf32>
  return
}

// -----

// scatter_c10
func.func @scatter_c10(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<3xf32>) {
  // expected-error@below {{'stablehlo.scatter' op inserted_window_dims must be in increasing order, got 0 after 1}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1, 0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<8x4xf32>
  return
}

// -----

// scatter_c11
func.func @scatter_c11(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op inserted_window_dims must be dimensions of the inputs, in [0, 2), got 2}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [2], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// scatter_c12
func.func @scatter_c12(%a: tensor<2x3x8xf32>, %b: tensor<2x3x1xi32>, %c: tensor<2x3xf32>) {
  // expected-error@below {{'stablehlo.scatter' op input_batching_dims must be in increasing order, got 0 after 1}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [1, 0], scatter_indices_batching_dims = [1, 0], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<2x3x8xf32>, tensor<2x3x1xi32>, tensor<2x3xf32>) -> tensor<2x3x8xf32>
  return
}

// -----

// scatter_c13
func.func @scatter_c13(%a: tensor<2x8x4xf32>, %b: tensor<2x3x1xi32>, %c: tensor<2x3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op input_batching_dims must be dimensions of the inputs, in [0, 3), got 3}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [3], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<2x8x4xf32>, tensor<2x3x1xi32>, tensor<2x3x4xf32>) -> tensor<2x8x4xf32>
  return
}

// -----

// scatter_c14
func.func @scatter_c14(%a: tensor<2x2x8xf32>, %b: tensor<2x3x1xi32>, %c: tensor<2x3xf32>) {
  // expected-error@below {{'stablehlo.scatter' op scatter_indices_batching_dims must be unique, got 0 twice}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 0], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<2x2x8xf32>, tensor<2x3x1xi32>, tensor<2x3xf32>) -> tensor<2x2x8xf32>
  return
}

// -----

// scatter_c15
func.func @scatter_c15(%a: tensor<2x8x4xf32>, %b: tensor<2x3x1xi32>, %c: tensor<2x3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op scatter_indices_batching_dims must be dimensions of scatter_indices, in [0, 3), got 3}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [3], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<2x8x4xf32>, tensor<2x3x1xi32>, tensor<2x3x4xf32>) -> tensor<2x8x4xf32>
  return
}

// -----

// scatter_c16
func.func @scatter_c16(%a: tensor<2x8x4xf32>, %b: tensor<2x3x1xi32>, %c: tensor<2x3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op scatter_indices_batching_dims must not contain index_vector_dim, 2, got [2]}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [2], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<2x8x4xf32>, tensor<2x3x1xi32>, tensor<2x3x4xf32>) -> tensor<2x8x4xf32>
  return
}

// -----

// scatter_c17
func.func @scatter_c17(%a: tensor<2x8x4xf32>, %b: tensor<2x3x1xi32>, %c: tensor<2x3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op input_batching_dims and scatter_indices_batching_dims must have the same number of entries, got 1 and 2}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<2x8x4xf32>, tensor<2x3x1xi32>, tensor<2x3x4xf32>) -> tensor<2x8x4xf32>
  return
}

// -----

// scatter_c18
func.func @scatter_c18(%a: tensor<2x8x4xf32>, %b: tensor<2x3x1xi32>, %c: tensor<2x3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op batching dimensions 0 of the inputs and 1 of scatter_indices must have equal sizes, got 2 and 3}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<2x8x4xf32>, tensor<2x3x1xi32>, tensor<2x3x4xf32>) -> tensor<2x8x4xf32>
  return
}

// -----

// scatter_c19
func.func @scatter_c19(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op scatter_dims_to_operand_dims must have one entry for each element of an index vector, got 2 for 1}}
  // expected-note@below {{index vectors lie along dimension index_vector_dim = 1 of 'tensor<3x1xi32>'}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// scatter_c20
func.func @scatter_c20(%a: tensor<2x8x4xf32>, %b: tensor<2x3x1xi32>, %c: tensor<2x3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op scatter_dims_to_operand_dims and input_batching_dims must be unique, got 0 twice}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<2x8x4xf32>, tensor<2x3x1xi32>, tensor<2x3x4xf32>) -> tensor<2x8x4xf32>
  return
}

// -----

// scatter_c21
func.func @scatter_c21(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op scatter_dims_to_operand_dims must be dimensions of the inputs, in [0, 2), got 2}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [2], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// scatter_c22
func.func @scatter_c22(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op index_vector_dim must be at least 0 and at most the rank of scatter_indices, 2, got 3}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 3>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// scatter_c23
func.func @scatter_c23(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op update_computation must take 2 scalars and return 1, got 1 and 1}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// scatter_c23
func.func @scatter_c23_2(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op update_computation must take and return the same type of scalar for input 0, got arguments 'tensor<f32>' and 'tensor<f64>' and result 'tensor<f32>'}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f64>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// scatter_c23
func.func @scatter_c23_3(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op update_computation must use a type to which input 0 can be promoted, got input type 'f32' and computation type 'f16'}}
  // expected-note@below {{a promotion must keep the kind of number and must not make it narrower}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f16>, %x1: tensor<f16>):
    stablehlo.return %x0 : tensor<f16>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf16>
  return
}

// -----

// scatter_c24
func.func @scatter_c24(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op result 0 must have the shape of the inputs, [8, 4], got 'tensor<8x5xf32>'}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x5xf32>
  return
}

// -----

// scatter_c24
func.func @scatter_c24_2(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op must have one result for each input, got 2 for 1}}
  %0:2 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
  return
}

// -----

// scatter_c25
func.func @scatter_c25(%a: tensor<8x4xf32>, %b: tensor<3x1xi32>, %c: tensor<3x4xf32>) {
  // expected-error@below {{'stablehlo.scatter' op result 0 must have the element type of its computation, 'f64', got 'f32'}}
  %0 = "stablehlo.scatter"(%a, %b, %c) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%x0: tensor<f64>, %x1: tensor<f64>):
    stablehlo.return %x0 : tensor<f64>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return
}
