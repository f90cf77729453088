// RUN: tilewright-opt %s --cpu-lower-ops --split-input-file | FileCheck %s

/// What an op omits, such as a stride, the call has.

// CHECK-LABEL: func @movement
//       CHECK:   exec.gather(%{{.*}}, %{{.*}}) {collapsed_slice_dims = array<i64: 1>, index_vector_dim = 2 : i64,
//  CHECK-SAME:     offset_dims = array<i64: 1>, operand_batching_dims = array<i64: 0>, slice_sizes = array<i64: 1, 1, 6>,
//  CHECK-SAME:     start_index_map = array<i64: 1>, start_indices_batching_dims = array<i64: 1>}
//       CHECK:   exec.pad(%{{.*}}, %{{.*}}) {edge_padding_high = array<i64: 2, 0, 0>, edge_padding_low = array<i64: 1, 0, 0>, interior_padding = array<i64: 3, 0, 0>}
//       CHECK:   exec.slice(%{{.*}}) {limit_indices = array<i64: 4, 5, 6>, start_indices = array<i64: 0, 1, 2>, strides = array<i64: 1, 2, 1>}
//       CHECK:   exec.dynamic_update_slice(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {aliases = array<i64: 0, 0>}
//       CHECK:   exec.rank_id() {kind = #exec.rank_kind<replica>} : () -> tensor<ui32>
func.func @movement(%a: tensor<4x5x6xf32>, %i: tensor<3x4x1xi32>, %z: tensor<f32>, %s: tensor<i32>)
    -> (tensor<3x6x4xf32>, tensor<16x5x6xf32>, tensor<4x2x4xf32>, tensor<4x5x6xf32>, tensor<ui32>) {
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [1],
      operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 2>,
      slice_sizes = array<i64: 1, 1, 6>} : (tensor<4x5x6xf32>, tensor<3x4x1xi32>) -> tensor<3x6x4xf32>
  %1 = stablehlo.pad %a, %z, low = [1, 0, 0], high = [2, 0, 0], interior = [3, 0, 0] : (tensor<4x5x6xf32>, tensor<f32>) -> tensor<16x5x6xf32>
  %2 = stablehlo.slice %a [0:4, 1:5:2, 2:6] : (tensor<4x5x6xf32>) -> tensor<4x2x4xf32>
  %3 = stablehlo.dynamic_update_slice %a, %2, %s, %s, %s
      : (tensor<4x5x6xf32>, tensor<4x2x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x5x6xf32>
  %4 = stablehlo.replica_id : tensor<ui32>
  return %0, %1, %2, %3, %4 : tensor<3x6x4xf32>, tensor<16x5x6xf32>, tensor<4x2x4xf32>, tensor<4x5x6xf32>, tensor<ui32>
}

// -----

// CHECK-LABEL: func @convolution
//       CHECK:   exec.convolution(%{{.*}}, %{{.*}}) {feature_group_count = 2 : i64, input_batch_dimension = 0 : i64, input_feature_dimension = 3 : i64,
//  CHECK-SAME:     input_spatial_dimensions = array<i64: 1, 2>, kernel_input_feature_dimension = 2 : i64, kernel_output_feature_dimension = 3 : i64,
//  CHECK-SAME:     kernel_spatial_dimensions = array<i64: 0, 1>, lhs_dilation = array<i64: 1, 1>, output_batch_dimension = 0 : i64,
//  CHECK-SAME:     output_feature_dimension = 3 : i64, output_spatial_dimensions = array<i64: 1, 2>, padding = array<i64: 1, 2, 0, 0>,
//  CHECK-SAME:     rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 2, 1>}
func.func @convolution(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x2x6xf32>) -> tensor<1x5x6x6xf32> {
  %0 = "stablehlo.convolution"(%x, %w) {window_strides = array<i64: 2, 1>, padding = dense<[[1, 2], [0, 0]]> : tensor<2x2xi64>,
      dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>,
      feature_group_count = 2 : i64, batch_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x2x6xf32>) -> tensor<1x5x6x6xf32>
  return %0 : tensor<1x5x6x6xf32>
}

// -----

/// argmax of JAX, where the first of equal elements wins.

// CHECK-LABEL: func @argmax
//       CHECK:   exec.reduce(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {body = #exec.combiner<argmax>, dimensions = array<i64: 0>}
//   CHECK-NOT:   func.func private
func.func @argmax(%a: tensor<8xf32>, %i: tensor<8xi32>, %z: tensor<f32>, %n: tensor<i32>) -> tensor<i32> {
  %0:2 = "stablehlo.reduce"(%a, %i, %z, %n) ({
  ^bb0(%x: tensor<f32>, %j: tensor<i32>, %y: tensor<f32>, %k: tensor<i32>):
    %gt = stablehlo.compare GT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %nan = stablehlo.compare NE, %x, %x, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %wins = stablehlo.or %gt, %nan : tensor<i1>
    %eq = stablehlo.compare EQ, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %lt = stablehlo.compare LT, %j, %k, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %eq, %lt : tensor<i1>
    %first = stablehlo.or %wins, %tie : tensor<i1>
    %v = stablehlo.select %wins, %x, %y : tensor<i1>, tensor<f32>
    %w = stablehlo.select %first, %j, %k : tensor<i1>, tensor<i32>
    stablehlo.return %v, %w : tensor<f32>, tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<8xf32>, tensor<8xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
  return %0#1 : tensor<i32>
}

// -----

// CHECK-LABEL: func @windows
//       CHECK:   exec.reduce_window(%{{.*}}, %{{.*}}) {base_dilations = array<i64: 1>, body = #exec.combiner<maximum>, padding = array<i64: 0, 0>,
//  CHECK-SAME:     window_dilations = array<i64: 1>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}
//       CHECK:   exec.select_and_scatter(%{{.*}}, %{{.*}}, %{{.*}}) {bodies = [@body_0], padding = array<i64: 0, 0>, scatter = #exec.combiner<function>,
//  CHECK-SAME:     select = #exec.selector<ge>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}
func.func @windows(%a: tensor<8xf32>, %z: tensor<f32>) -> tensor<8xf32> {
  %0 = "stablehlo.reduce_window"(%a, %z) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>} : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "stablehlo.select_and_scatter"(%a, %0, %z) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.subtract %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>} : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

/// Each result takes over the memory of its input.

// CHECK-LABEL: func @scatter
//       CHECK:   exec.scatter(%{{.*}}) {aliases = array<i64: 0, 0, 1, 1>, bodies = [@body_0], body = #exec.combiner<function>, index_vector_dim = 1 : i64,
//  CHECK-SAME:     input_batching_dims = array<i64>, inserted_window_dims = array<i64: 0>, scatter_dims_to_operand_dims = array<i64: 0>,
//  CHECK-SAME:     scatter_indices_batching_dims = array<i64>, update_window_dims = array<i64: 1>}
func.func @scatter(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0:2 = "stablehlo.scatter"(%a, %b, %i, %u, %u) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>, %x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %p, %x : tensor<f32>
    stablehlo.return %s, %y : tensor<f32>, tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
  return %0#0, %0#1 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

/// JAX's top_k comes as a custom call.

// CHECK-LABEL: func @others
//       CHECK:   exec.top_k(%{{.*}}) {k = 3 : i64, largest = false} : (tensor<8xf32>) -> (tensor<3xf32>, tensor<3xi32>)
//       CHECK:   exec.rng(%{{.*}}, %{{.*}}, %{{.*}}) {rng_distribution = #exec.rng_distribution<NORMAL>}
//       CHECK:   exec.rng_bit_generator(%{{.*}}) {rng_algorithm = #exec.rng_algorithm<THREE_FRY>}
//       CHECK:   exec.fft(%{{.*}}) {fft_length = array<i64: 8>, fft_type = #exec.fft_type<RFFT>}
//       CHECK:   exec.cholesky(%{{.*}}) {lower = true}
//       CHECK:   exec.triangular_solve(%{{.*}}, %{{.*}}) {left_side = true, lower = false, transpose_a = #exec.transpose<ADJOINT>, unit_diagonal = true}
func.func @others(%a: tensor<8xf32>, %z: tensor<f32>, %n: tensor<1xi64>, %k: tensor<2xui64>, %m: tensor<4x4xf32>)
    -> (tensor<3xf32>, tensor<8xf32>, tensor<8xui32>, tensor<5xcomplex<f32>>, tensor<4x4xf32>) {
  %0:2 = stablehlo.custom_call @mhlo.topk(%a) {mhlo.attributes = {k = 3 : i64, largest = false}} : (tensor<8xf32>) -> (tensor<3xf32>, tensor<3xi32>)
  %1 = "stablehlo.rng"(%z, %z, %n) {rng_distribution = #stablehlo<rng_distribution NORMAL>} : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
  %2:2 = "stablehlo.rng_bit_generator"(%k) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
  %3 = "stablehlo.fft"(%a) {fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 8>} : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
  %4 = "stablehlo.cholesky"(%m) {lower = true} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = "stablehlo.triangular_solve"(%m, %4) {left_side = true, lower = false, unit_diagonal = true, transpose_a = #stablehlo<transpose ADJOINT>}
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0#0, %1, %2#1, %3, %5 : tensor<3xf32>, tensor<8xf32>, tensor<8xui32>, tensor<5xcomplex<f32>>, tensor<4x4xf32>
}
