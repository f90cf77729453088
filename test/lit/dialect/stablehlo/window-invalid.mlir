// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

/// Each case breaks one constraint of reduce_window or select_and_scatter.

// reduce_window_c1
func.func @reduce_window_c1() {
  // expected-error@below {{'stablehlo.reduce_window' op must have at least one input, got none}}
  %0 = "stablehlo.reduce_window"() <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : () -> tensor<4xf32>
  return
}

// -----

// reduce_window_c1
func.func @reduce_window_c1_2(%a: tensor<8xf32>, %b: tensor<f32>, %c: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op must have one initial value for each input, got an odd number of operands, 3}}
  %0 = "stablehlo.reduce_window"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// reduce_window_c1
func.func @reduce_window_c1_3(%a: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op must have one result for each input, got 2 for 1}}
  %0:2 = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// reduce_window_c2
func.func @reduce_window_c2(%a: tensor<8xf32>, %b: tensor<9xf32>, %c: tensor<f32>, %d: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op inputs must have the same shape, got 'tensor<8xf32>' at index 0 and 'tensor<9xf32>' at index 1}}
  %0:2 = "stablehlo.reduce_window"(%a, %b, %c, %d) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<f32>, %x3: tensor<f32>):
    stablehlo.return %x0, %x1 : tensor<f32>, tensor<f32>
  }) : (tensor<8xf32>, tensor<9xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// reduce_window_c3
func.func @reduce_window_c3(%a: tensor<8xf32>, %b: tensor<i32>) {
  // expected-error@below {{'stablehlo.reduce_window' op initial value 0 must have the element type of its input, 'f32', got 'i32'}}
  %0 = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

// reduce_window_c4
func.func @reduce_window_c4(%a: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op window_dimensions must have one entry for each dimension of the inputs, got 2 for 1}}
  %0 = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// reduce_window_c5
func.func @reduce_window_c5(%a: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op window_dimensions must be at least 1, got 0 at index 0}}
  %0 = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 0>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// reduce_window_c6
func.func @reduce_window_c6(%a: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op window_strides must have one entry for each dimension of the inputs, got 2 for 1}}
  %0 = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// reduce_window_c7
func.func @reduce_window_c7(%a: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op window_strides must be at least 1, got -1 at index 0}}
  %0 = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: -1>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// reduce_window_c8
func.func @reduce_window_c8(%a: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op base_dilations must have one entry for each dimension of the inputs, got 2 for 1}}
  %0 = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, base_dilations = array<i64: 1, 1>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// reduce_window_c9
func.func @reduce_window_c9(%a: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op base_dilations must be at least 1, got 0 at index 0}}
  %0 = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, base_dilations = array<i64: 0>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// reduce_window_c10
func.func @reduce_window_c10(%a: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op window_dilations must have one entry for each dimension of the inputs, got 2 for 1}}
  %0 = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, window_dilations = array<i64: 1, 1>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// reduce_window_c11
func.func @reduce_window_c11(%a: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op window_dilations must be at least 1, got 0 at index 0}}
  %0 = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, window_dilations = array<i64: 0>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// reduce_window_c12
func.func @reduce_window_c12(%a: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op padding must have two entries for each dimension, shape [1, 2], got [2]}}
  %0 = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<0> : tensor<2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

/// A splat that could not be walked.
// reduce_window_c12
func.func @reduce_window_c12_2(%a: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op padding must have two entries for each dimension, shape [1, 2], got [1000000, 1000000]}}
  %0 = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<0> : tensor<1000000x1000000xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// reduce_window_c13
func.func @reduce_window_c13(%a: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op body must take 2 scalars and return 1, got 1 and 1}}
  %0 = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// reduce_window_c14
func.func @reduce_window_c14(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<f32>, %d: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op results must have the same shape, got 'tensor<4xf32>' at index 0 and 'tensor<5xf32>' at index 1}}
  %0:2 = "stablehlo.reduce_window"(%a, %b, %c, %d) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<f32>, %x3: tensor<f32>):
    stablehlo.return %x0, %x1 : tensor<f32>, tensor<f32>
  }) : (tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<5xf32>)
  return
}

// -----

// reduce_window_c15
func.func @reduce_window_c15(%a: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op results must have shape [4], one element for each window, got 'tensor<3xf32>'}}
  %0 = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

/// (8 - 1) * 2 + 1 + 1 = 16 wide, a window of 2 every 2.
// reduce_window_c15
func.func @reduce_window_c15_2(%a: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op results must have shape [8], one element for each window, got 'tensor<4xf32>'}}
  %0 = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, base_dilations = array<i64: 2>, padding = dense<[[1, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

/// Negative padding leaves nothing.
// reduce_window_c15
func.func @reduce_window_c15_3(%a: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op results must have shape [0], one element for each window, got 'tensor<4xf32>'}}
  %0 = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<[[-9, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// reduce_window_c15
func.func @reduce_window_c15_4(%a: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op padded and dilated sizes must fit in 63 bits, but dimension 0 of 'tensor<8xf32>' does not}}
  %0 = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, base_dilations = array<i64: 4611686018427387904>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// reduce_window_c15
func.func @reduce_window_c15_5(%a: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op padded and dilated sizes must fit in 63 bits, but dimension 0 of 'tensor<8xf32>' does not}}
  %0 = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<9223372036854775807> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// reduce_window_c16
func.func @reduce_window_c16(%a: tensor<8xf32>, %b: tensor<f32>) {
  // expected-error@below {{'stablehlo.reduce_window' op result 0 must have the element type of its computation, 'f32', got 'f64'}}
  %0 = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf64>
  return
}

// -----

// select_and_scatter_c1
func.func @select_and_scatter_c1(%a: tensor<4xf32>, %b: tensor<2xf64>, %c: tensor<f32>) {
  // expected-error@below {{'stablehlo.select_and_scatter' op operand and source must have the same element type, got 'f32' and 'f64'}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf64>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// select_and_scatter_c2
func.func @select_and_scatter_c2(%a: tensor<4xf32>, %b: tensor<3xf32>, %c: tensor<f32>) {
  // expected-error@below {{'stablehlo.select_and_scatter' op source must have shape [2], one element for each window, got 'tensor<3xf32>'}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>, tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// select_and_scatter_c2
func.func @select_and_scatter_c2_2(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  // expected-error@below {{'stablehlo.select_and_scatter' op padded and dilated sizes must fit in 63 bits, but dimension 0 of 'tensor<4xf32>' does not}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<9223372036854775807> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// select_and_scatter_c3
func.func @select_and_scatter_c3(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f64>) {
  // expected-error@below {{'stablehlo.select_and_scatter' op initial value 0 must have the element type of its input, 'f32', got 'f64'}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f64>) -> tensor<4xf32>
  return
}

// -----

// select_and_scatter_c3
func.func @select_and_scatter_c3_2(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<1xf32>) {
  // expected-error@below {{'stablehlo.select_and_scatter' op initial value 0 must be a scalar, got 'tensor<1xf32>'}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<1xf32>) -> tensor<4xf32>
  return
}

// -----

// select_and_scatter_c4
func.func @select_and_scatter_c4(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  // expected-error@below {{'stablehlo.select_and_scatter' op window_dimensions must have one entry for each dimension of the operand, got 2 for 1}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// select_and_scatter_c4
func.func @select_and_scatter_c4_2(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  // expected-error@below {{'stablehlo.select_and_scatter' op window_dimensions must have one entry for each dimension of the operand, got 0 for 1}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// select_and_scatter_c5
func.func @select_and_scatter_c5(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  // expected-error@below {{'stablehlo.select_and_scatter' op window_dimensions must be at least 1, got 0 at index 0}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 0>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// select_and_scatter_c6
func.func @select_and_scatter_c6(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  // expected-error@below {{'stablehlo.select_and_scatter' op window_strides must have one entry for each dimension of the operand, got 2 for 1}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// select_and_scatter_c7
func.func @select_and_scatter_c7(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  // expected-error@below {{'stablehlo.select_and_scatter' op window_strides must be at least 1, got 0 at index 0}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 0>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// select_and_scatter_c8
func.func @select_and_scatter_c8(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  // expected-error@below {{'stablehlo.select_and_scatter' op padding must have two entries for each dimension, shape [1, 2], got [2, 1]}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<0> : tensor<2x1xi64>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// select_and_scatter_c9
func.func @select_and_scatter_c9(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  // expected-error@below {{'stablehlo.select_and_scatter' op select must take 2 arguments, got 3}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// select_and_scatter_c9
func.func @select_and_scatter_c9_2(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  // expected-error@below {{'stablehlo.select_and_scatter' op select must return 'tensor<i1>' as value 0, got 'tensor<f32>'}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }, {
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// select_and_scatter_c10
func.func @select_and_scatter_c10(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  // expected-error@below {{'stablehlo.select_and_scatter' op scatter must take 2 scalars and return 1, got 1 and 1}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x0: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// select_and_scatter_c11
func.func @select_and_scatter_c11(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  // expected-error@below {{'stablehlo.select_and_scatter' op result must have the shape of the operand, [4], got 'tensor<2xf32>'}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    stablehlo.return %x0 : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

// select_and_scatter_c12
func.func @select_and_scatter_c12(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  // expected-error@below {{'stablehlo.select_and_scatter' op result 0 must have the element type of its computation, 'f64', got 'f32'}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
    %p = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x0: tensor<f64>, %x1: tensor<f64>):
    stablehlo.return %x0 : tensor<f64>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
