// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s

/// Each kernel of the library has an op. Attributes with their default value are not printed.

// CHECK-LABEL: func @movement
//       CHECK:   exec.broadcast_in_dim(%{{.*}}) {broadcast_dimensions = array<i64: 1>} : (tensor<8xf32>) -> tensor<4x8xf32>
//       CHECK:   exec.concatenate(%{{.*}}, %{{.*}}) {dimension = 0 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
//       CHECK:   exec.dynamic_slice(%{{.*}}, %{{.*}}) {slice_sizes = array<i64: 2>}
//       CHECK:   exec.dynamic_update_slice(%{{.*}}, %{{.*}}, %{{.*}}) {aliases = array<i64: 0, 0>}
//       CHECK:   exec.gather(%{{.*}}, %{{.*}}) {collapsed_slice_dims = array<i64: 0>, index_vector_dim = 0 : i64,
//  CHECK-SAME:     offset_dims = array<i64>, operand_batching_dims = array<i64>, slice_sizes = array<i64: 1>,
//  CHECK-SAME:     start_index_map = array<i64: 0>, start_indices_batching_dims = array<i64>}
//       CHECK:   exec.iota() {iota_dimension = 0 : i64} : () -> tensor<8xi32>
//       CHECK:   exec.pad(%{{.*}}, %{{.*}}) {edge_padding_high = array<i64: 1>, edge_padding_low = array<i64: 0>, interior_padding = array<i64: 0>}
//       CHECK:   exec.rank_id() {kind = #exec.rank_kind<replica>} : () -> tensor<ui32>
//       CHECK:   exec.reshape(%{{.*}}) : (tensor<8xf32>) -> tensor<2x4xf32>
//       CHECK:   exec.reverse(%{{.*}}) {dimensions = array<i64: 0>}
//       CHECK:   exec.slice(%{{.*}}) {limit_indices = array<i64: 8>, start_indices = array<i64: 0>, strides = array<i64: 2>}
//       CHECK:   exec.transpose(%{{.*}}) {permutation = array<i64: 1, 0>}
func.func @movement(%a: tensor<8xf32>, %i: tensor<i32>, %s: tensor<f32>, %m: tensor<4x8xf32>, %u: tensor<2xf32>) {
  %0 = exec.broadcast_in_dim(%a) {broadcast_dimensions = array<i64: 1>} : (tensor<8xf32>) -> tensor<4x8xf32>
  %1 = exec.concatenate(%a, %a) {dimension = 0 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %2 = exec.dynamic_slice(%a, %i) {slice_sizes = array<i64: 2>} : (tensor<8xf32>, tensor<i32>) -> tensor<2xf32>
  %3 = exec.dynamic_update_slice(%a, %u, %i) {aliases = array<i64: 0, 0>} : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
  %4 = exec.gather(%a, %i) {offset_dims = array<i64>, collapsed_slice_dims = array<i64: 0>, operand_batching_dims = array<i64>,
      start_indices_batching_dims = array<i64>, start_index_map = array<i64: 0>, index_vector_dim = 0 : i64,
      slice_sizes = array<i64: 1>} : (tensor<8xf32>, tensor<i32>) -> tensor<f32>
  %5 = exec.iota() {iota_dimension = 0 : i64} : () -> tensor<8xi32>
  %6 = exec.pad(%a, %s) {edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 1>, interior_padding = array<i64: 0>}
      : (tensor<8xf32>, tensor<f32>) -> tensor<9xf32>
  %7 = exec.rank_id() {kind = #exec.rank_kind<replica>} : () -> tensor<ui32>
  %8 = exec.reshape(%a) : (tensor<8xf32>) -> tensor<2x4xf32>
  %9 = exec.reverse(%a) {dimensions = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32>
  %10 = exec.slice(%a) {start_indices = array<i64: 0>, limit_indices = array<i64: 8>, strides = array<i64: 2>} : (tensor<8xf32>) -> tensor<4xf32>
  %11 = exec.transpose(%m) {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// CHECK-LABEL: func @products
//       CHECK:   exec.convolution(%{{.*}}, %{{.*}}) {batch_group_count = 2 : i64, input_batch_dimension = 0 : i64,
//   CHECK-NOT:     feature_group_count
//  CHECK-SAME:     precision = #exec.precision<HIGH>
//  CHECK-SAME:     window_reversal = array<i1: true>
//       CHECK:   exec.dot_general(%{{.*}}, %{{.*}}, %{{.*}}) {bodies = [@epilogue],
//   CHECK-NOT:     precision
//  CHECK-SAME:     product_type = bf16
func.func @products(%x: tensor<4x4x4xf32>, %m: tensor<4x4xbf16>) {
  %0 = exec.convolution(%x, %x) {input_batch_dimension = 0 : i64, input_feature_dimension = 1 : i64,
      input_spatial_dimensions = array<i64: 2>, kernel_input_feature_dimension = 1 : i64,
      kernel_output_feature_dimension = 0 : i64, kernel_spatial_dimensions = array<i64: 2>, output_batch_dimension = 0 : i64,
      output_feature_dimension = 1 : i64, output_spatial_dimensions = array<i64: 2>, window_strides = array<i64: 1>,
      padding = array<i64: 0, 0>, lhs_dilation = array<i64: 1>, rhs_dilation = array<i64: 1>, window_reversal = array<i1: true>,
      feature_group_count = 1 : i64, batch_group_count = 2 : i64, precision = #exec.precision<HIGH>}
      : (tensor<4x4x4xf32>, tensor<4x4x4xf32>) -> tensor<2x4x1xf32>
  %1:2 = exec.dot_general(%m, %m, %m) {lhs_batching_dimensions = array<i64>, rhs_batching_dimensions = array<i64>,
      lhs_contracting_dimensions = array<i64: 1>, rhs_contracting_dimensions = array<i64: 0>,
      precision = #exec.precision<DEFAULT>, product_type = bf16, bodies = [@epilogue]}
      : (tensor<4x4xbf16>, tensor<4x4xbf16>, tensor<4x4xbf16>) -> (tensor<4x4xf32>, tensor<4x4xbf16>)
  return
}

// CHECK-LABEL: func @reductions
//       CHECK:   exec.argmax(%{{.*}}) {dimension = 0 : i64} : (tensor<8xf32>) -> tensor<i32>
//       CHECK:   exec.argmin(%{{.*}}) {dimension = 0 : i64} : (tensor<8xf32>) -> (tensor<f32>, tensor<i32>)
//       CHECK:   exec.cumulative(%{{.*}}) {body = #exec.combiner<multiply>, dimension = 0 : i64, reverse = true}
//       CHECK:   exec.reduce(%{{.*}}, %{{.*}}) {body = #exec.combiner<or>, dimensions = array<i64: 0>}
//       CHECK:   exec.reduce_window(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {base_dilations = array<i64: 1>, bodies = [@pair], body = #exec.combiner<function>
//       CHECK:   exec.select_and_scatter(%{{.*}}, %{{.*}}, %{{.*}}) {bodies = [@choose, @pair]
//       CHECK:   exec.scatter(%{{.*}}, %{{.*}}, %{{.*}}) {aliases = array<i64: 0, 0>, body = #exec.combiner<second>
//       CHECK:   exec.sort(%{{.*}}) {bodies = [@choose], comparator = #exec.comparator<function>, dimension = 0 : i64}
//       CHECK:   exec.top_k(%{{.*}}) {k = 3 : i64} : (tensor<8xf32>) -> (tensor<3xf32>, tensor<3xi32>)
func.func @reductions(%a: tensor<8xf32>, %p: tensor<8xi1>, %i: tensor<8xi32>, %s: tensor<f32>, %q: tensor<i1>, %n: tensor<i32>) {
  %0 = exec.argmax(%a) {dimension = 0 : i64} : (tensor<8xf32>) -> tensor<i32>
  %1:2 = exec.argmin(%a) {dimension = 0 : i64} : (tensor<8xf32>) -> (tensor<f32>, tensor<i32>)
  %2 = exec.cumulative(%a) {dimension = 0 : i64, reverse = true, body = #exec.combiner<multiply>} : (tensor<8xf32>) -> tensor<8xf32>
  %3 = exec.reduce(%p, %q) {dimensions = array<i64: 0>, body = #exec.combiner<or>} : (tensor<8xi1>, tensor<i1>) -> tensor<i1>
  %4:2 = exec.reduce_window(%a, %i, %s, %n) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>,
      base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = array<i64: 0, 0>,
      body = #exec.combiner<function>, bodies = [@pair]}
      : (tensor<8xf32>, tensor<8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
  %5 = exec.select_and_scatter(%a, %4#0, %s) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>,
      padding = array<i64: 0, 0>, select = #exec.selector<function>, scatter = #exec.combiner<function>, bodies = [@choose, @pair]}
      : (tensor<8xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %6 = exec.scatter(%a, %n, %s) {update_window_dims = array<i64>, inserted_window_dims = array<i64: 0>, input_batching_dims = array<i64>,
      scatter_indices_batching_dims = array<i64>, scatter_dims_to_operand_dims = array<i64: 0>, index_vector_dim = 0 : i64,
      body = #exec.combiner<second>, aliases = array<i64: 0, 0>} : (tensor<8xf32>, tensor<i32>, tensor<f32>) -> tensor<8xf32>
  %7 = exec.sort(%a) {dimension = 0 : i64, comparator = #exec.comparator<function>, bodies = [@choose]} : (tensor<8xf32>) -> tensor<8xf32>
  %8:2 = exec.top_k(%a) {k = 3 : i64, largest = true} : (tensor<8xf32>) -> (tensor<3xf32>, tensor<3xi32>)
  return
}

// CHECK-LABEL: func @others
//       CHECK:   exec.rng(%{{.*}}, %{{.*}}, %{{.*}}) {rng_distribution = #exec.rng_distribution<NORMAL>}
//       CHECK:   exec.rng_bit_generator(%{{.*}}) {rng_algorithm = #exec.rng_algorithm<PHILOX>}
//       CHECK:   exec.fft(%{{.*}}) {fft_length = array<i64: 8>, fft_type = #exec.fft_type<RFFT>}
//       CHECK:   exec.cholesky(%{{.*}}) {lower = true}
//       CHECK:   exec.triangular_solve(%{{.*}}, %{{.*}}) {left_side = true, lower = false, transpose_a = #exec.transpose<ADJOINT>, unit_diagonal = false}
//       CHECK:   exec.lapack(%{{.*}}) {options = "L", routine = #exec.lapack_routine<potrf>}
func.func @others(%a: tensor<8xf32>, %s: tensor<f32>, %n: tensor<1xi64>, %k: tensor<2xui64>, %m: tensor<4x4xf32>) {
  %0 = exec.rng(%s, %s, %n) {rng_distribution = #exec.rng_distribution<NORMAL>} : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
  %1:2 = exec.rng_bit_generator(%k) {rng_algorithm = #exec.rng_algorithm<PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
  %2 = exec.fft(%a) {fft_type = #exec.fft_type<RFFT>, fft_length = array<i64: 8>} : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
  %3 = exec.cholesky(%m) {lower = true} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = exec.triangular_solve(%m, %m) {left_side = true, lower = false, unit_diagonal = false, transpose_a = #exec.transpose<ADJOINT>}
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %5:2 = exec.lapack(%m) {routine = #exec.lapack_routine<potrf>, options = "L"} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>)
  return
}
