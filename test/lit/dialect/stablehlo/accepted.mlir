// RUN: tilewright-opt %s | FileCheck %s

/// Corners that verifiers must leave alone: each is next to a rule that a file
/// of refused cases breaks.

// CHECK-LABEL: func @dynamic_sizes_agree_with_any
func.func @dynamic_sizes_agree_with_any(%a: tensor<?x4xf32>, %i: tensor<?x1xi32>, %z: tensor<f32>) {
  // CHECK: stablehlo.gather
  %0 = "stablehlo.gather"(%a, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4>
  }> : (tensor<?x4xf32>, tensor<?x1xi32>) -> tensor<7x?xf32>
  // CHECK: stablehlo.reduce
  %1 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<?x4xf32>, tensor<f32>) -> tensor<5xf32>
  // CHECK: stablehlo.all_to_all
  %2 = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64,
    replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<?x4xf32>) -> tensor<?x8xf32>
  return
}

/// A sum of f16 may be taken in f32, and of i8 in i32.
// CHECK-LABEL: func @computations_promote
func.func @computations_promote(%a: tensor<2x3xf16>, %b: tensor<f16>, %c: tensor<4xi8>) {
  // CHECK: stablehlo.reduce
  %0 = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<2x3xf16>, tensor<f16>) -> tensor<f32>
  // CHECK: stablehlo.all_reduce
  %1 = "stablehlo.all_reduce"(%c) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    stablehlo.return %x : tensor<i32>
  }) : (tensor<4xi8>) -> tensor<4xi32>
  return
}

/// -1 pads groups of unequal size; no groups at all are one of all processes.
// CHECK-LABEL: func @replica_groups
func.func @replica_groups(%a: tensor<4xf32>) {
  // CHECK: stablehlo.all_reduce
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.all_gather
  %1 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<> : tensor<0x0xi64>}>
      : (tensor<4xf32>) -> tensor<32xf32>
  /// With a channel and no global ids, groups span all partitions, however many.
  // CHECK: stablehlo.reduce_scatter
  %2 = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>,
    replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<2xf32>
  // CHECK: stablehlo.collective_broadcast
  %3 = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[9223372036854775807, 3]]> : tensor<1x2xi64>}>
      : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.collective_permute
  %4 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<> : tensor<0x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

/// Windows larger than the input, empty inputs, and no dimensions at all.
// CHECK-LABEL: func @windows
func.func @windows(%a: tensor<3xf32>, %e: tensor<0xf32>, %s: tensor<f32>) {
  // CHECK: stablehlo.reduce_window
  %0 = "stablehlo.reduce_window"(%a, %s) <{window_dimensions = array<i64: 4>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<3xf32>, tensor<f32>) -> tensor<0xf32>
  // CHECK: stablehlo.reduce_window
  %1 = "stablehlo.reduce_window"(%e, %s) <{window_dimensions = array<i64: 2>, padding = dense<1> : tensor<1x2xi64>,
    base_dilations = array<i64: 3>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<0xf32>, tensor<f32>) -> tensor<1xf32>
  // CHECK: stablehlo.reduce_window
  %2 = "stablehlo.reduce_window"(%s, %s) <{window_dimensions = array<i64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

/// A scatter without window dimensions, on a scalar, with no index in a vector.
// CHECK-LABEL: func @scatter_scalar
func.func @scatter_scalar(%a: tensor<f32>, %i: tensor<0xi32>, %u: tensor<f32>) {
  // CHECK: stablehlo.scatter
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<index_vector_dim = 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<f32>, tensor<0xi32>, tensor<f32>) -> tensor<f32>
  return
}
