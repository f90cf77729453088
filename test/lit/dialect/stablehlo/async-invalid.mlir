// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

/// Each case breaks one constraint of async_start, async_done, partition_id or replica_id.

// async_start_c1
func.func @async_start_c1(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.async_start' op body must consist of one op and a return, got 1 ops}}
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<2x2xf32>):
    stablehlo.return %x : tensor<2x2xf32>
  }) : (tensor<2x2xf32>) -> !stablehlo.future<tensor<2x2xf32>>
  return
}

// -----

// async_start_c1
func.func @async_start_c1_2(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.async_start' op body must consist of one op and a return, got 3 ops}}
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<2x2xf32>):
    %w = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x4xf32>
    %z = "stablehlo.negate"(%w) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    stablehlo.return %z : tensor<2x4xf32>
  }) : (tensor<2x2xf32>) -> !stablehlo.future<tensor<2x4xf32>>
  return
}

// -----

// async_start_c2
func.func @async_start_c2(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.async_start' op body must contain a collective or a slice, got 'stablehlo.negate'}}
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<2x2xf32>):
    %w = "stablehlo.negate"(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    stablehlo.return %w : tensor<2x2xf32>
  }) : (tensor<2x2xf32>) -> !stablehlo.future<tensor<2x2xf32>>
  return
}

// -----

// async_start_c3
func.func @async_start_c3(%a: tensor<2x3xf32>) {
  // expected-error@below {{'stablehlo.async_start' op body must take 'tensor<2x3xf32>' as argument 0, got 'tensor<2x2xf32>'}}
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<2x2xf32>):
    %w = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x4xf32>
    stablehlo.return %w : tensor<2x4xf32>
  }) : (tensor<2x3xf32>) -> !stablehlo.future<tensor<2x4xf32>>
  return
}

// -----

// async_start_c3
func.func @async_start_c3_2(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.async_start' op body must pass its arguments to 'stablehlo.all_gather' in order, got other operands}}
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<2x2xf32>):
    %w = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x4xf32>
    stablehlo.return %w : tensor<2x4xf32>
  }) : (tensor<2x2xf32>) -> !stablehlo.future<tensor<2x4xf32>>
  return
}

// -----

// async_start_c4
func.func @async_start_c4(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.async_start' op body must return the results of 'stablehlo.all_gather' in order, got other values}}
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<2x2xf32>):
    %w = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x4xf32>
    stablehlo.return %x : tensor<2x2xf32>
  }) : (tensor<2x2xf32>) -> !stablehlo.future<tensor<2x2xf32>>
  return
}

// -----

// async_start_c4
func.func @async_start_c4_2(%a: tensor<2x2xf32>) {
  // expected-error@below {{'stablehlo.async_start' op result must be a future of the types that body returns, ('tensor<2x4xf32>'), got '!stablehlo.future<tensor<2x2xf32>>'}}
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<2x2xf32>):
    %w = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x2xf32>) -> tensor<2x4xf32>
    stablehlo.return %w : tensor<2x4xf32>
  }) : (tensor<2x2xf32>) -> !stablehlo.future<tensor<2x2xf32>>
  return
}

// -----

// async_done_c1
func.func @async_done_c1(%a: !stablehlo.future<tensor<2x4xf32>>) {
  // expected-error@below {{'stablehlo.async_done' op results must have the types of the future, ('tensor<2x4xf32>'), got ('tensor<2x2xf32>')}}
  %0 = "stablehlo.async_done"(%a) : (!stablehlo.future<tensor<2x4xf32>>) -> tensor<2x2xf32>
  return
}

// -----

// partition_id
func.func @partition_id_vector() {
  // expected-error@below {{'stablehlo.partition_id' op result must be a scalar, got 'tensor<1xui32>'}}
  %0 = "stablehlo.partition_id"() : () -> tensor<1xui32>
  return
}

// -----

// replica_id
func.func @replica_id_vector() {
  // expected-error@below {{'stablehlo.replica_id' op result must be a scalar, got 'tensor<1xui32>'}}
  %0 = "stablehlo.replica_id"() : () -> tensor<1xui32>
  return
}
