// RUN: tilewright-opt %s --communicate-window-products=always --split-input-file | FileCheck %s

/// Rows are multiplied as they arrive: own ones first, then those of the next rank.

// CHECK-LABEL: func @gathered_rows
//  CHECK-SAME:   (%[[X:.*]]: {{.*}}, %[[W:.*]]: {{.*}})
//       CHECK:   %[[NEXT:.*]] = "stablehlo.collective_permute"(%[[X]]) <{{.*}}dense<{{\[\[}}1, 0], [2, 1], [3, 2], [0, 3]]>
//       CHECK:   %[[THIRD:.*]] = "stablehlo.collective_permute"(%[[NEXT]])
//       CHECK:   %[[LAST:.*]] = "stablehlo.collective_permute"(%[[THIRD]])
//       CHECK:   %[[ZEROS:.*]] = stablehlo.broadcast_in_dim {{.*}} -> tensor<16x6xf32>
//       CHECK:   %[[RANK:.*]] = stablehlo.convert
//       CHECK:   %[[AT:.*]] = stablehlo.multiply
//       CHECK:   %[[OWN:.*]] = stablehlo.dot_general %[[X]], %[[W]], {{.*}} -> tensor<4x6xf32>
//       CHECK:   %[[Y:.*]] = stablehlo.dynamic_update_slice %[[ZEROS]], %[[OWN]], %[[AT]], %{{.*}}
//       CHECK:   %[[SECOND:.*]] = stablehlo.dot_general %[[NEXT]], %[[W]]
//       CHECK:   stablehlo.dynamic_update_slice %[[Y]], %[[SECOND]]
//       CHECK:   stablehlo.dot_general %[[THIRD]], %[[W]]
//       CHECK:   stablehlo.dot_general %[[LAST]], %[[W]]
//       CHECK:   %[[ALL:.*]] = stablehlo.dynamic_update_slice
//   CHECK-NOT:   all_gather
//       CHECK:   return %[[ALL]]
module attributes {mhlo.num_partitions = 4 : i32} {
func.func @gathered_rows(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) -> tensor<16x6xf32> {
  %g = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<4x8xf32>) -> tensor<16x8xf32>
  %y = stablehlo.dot_general %g, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x6xf32>) -> tensor<16x6xf32>
  return %y : tensor<16x6xf32>
}
}

// -----

/// Gathered along the sums: pieces are added, small floats in f32. The weight of a piece begins at its owner's rows.

// CHECK-LABEL: func @gathered_sums
//       CHECK:   %[[NEXT:.*]] = "stablehlo.collective_permute"(%arg1)
//       CHECK:   %[[PART:.*]] = stablehlo.dynamic_slice %arg0, %{{.*}}, %{{.*}}, sizes = [6, 8]
//       CHECK:   %[[A:.*]] = stablehlo.dot_general %[[PART]], %arg1, {{.*}} -> tensor<6x5xf32>
//       CHECK:   %[[OTHER:.*]] = stablehlo.dynamic_slice %arg0
//       CHECK:   %[[B:.*]] = stablehlo.dot_general %[[OTHER]], %[[NEXT]], {{.*}} -> tensor<6x5xf32>
//       CHECK:   %[[SUM:.*]] = stablehlo.add %[[A]], %[[B]]
//       CHECK:   stablehlo.convert %[[SUM]] : (tensor<6x5xf32>) -> tensor<6x5xbf16>
module attributes {mhlo.num_partitions = 4 : i32} {
func.func @gathered_sums(%x: tensor<6x16xbf16>, %w: tensor<8x5xbf16>) -> tensor<6x5xbf16> {
  %g = "stablehlo.all_gather"(%w) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<8x5xbf16>) -> tensor<16x5xbf16>
  %y = stablehlo.dot_general %x, %g, contracting_dims = [1] x [0] : (tensor<6x16xbf16>, tensor<16x5xbf16>) -> tensor<6x5xbf16>
  return %y : tensor<6x5xbf16>
}
}

// -----

/// Two products share the pieces. The third one needs the first one's result, and something else reads the gathered value: for both it
/// is put together.

// CHECK-LABEL: func @shared
// CHECK-COUNT-1: "stablehlo.collective_permute"
//       CHECK:   %[[W0:.*]] = stablehlo.dynamic_update_slice
//       CHECK:   %[[WHOLE:.*]] = stablehlo.dynamic_update_slice %[[W0]]
// CHECK-COUNT-4: stablehlo.dot_general {{.*}} -> tensor<4x8xf32>
//       CHECK:   stablehlo.dot_general %{{.*}}, %[[WHOLE]], {{.*}} : (tensor<8x8xf32>, tensor<8x8xf32>)
//   CHECK-NOT:   collective_permute
//       CHECK:   stablehlo.add %{{.*}}, %[[WHOLE]]
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @shared(%x: tensor<4x8xf32>, %v: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %g = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %a = stablehlo.dot_general %g, %v, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = stablehlo.dot_general %g, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = stablehlo.dot_general %a, %g, contracting_dims = [0] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d = stablehlo.add %b, %g : tensor<8x8xf32>
  return %a, %c, %d : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
}

// -----

/// The sum of a piece begins at the rank behind its owner. Both products are computed piece by piece, through the ops between them and
/// the scatter.

// CHECK-LABEL: func @scattered
//       CHECK:   %[[A:.*]] = stablehlo.dynamic_slice %arg0, %{{.*}}, %{{.*}}, sizes = [4, 5]
//       CHECK:   %[[P:.*]] = stablehlo.dot_general %[[A]], %arg1, {{.*}} -> tensor<4x6xf32>
//       CHECK:   %[[T:.*]] = stablehlo.transpose %[[P]], dims = [1, 0]
//       CHECK:   %[[B:.*]] = stablehlo.dynamic_slice %arg2, %{{.*}}, %{{.*}}, sizes = [6, 4]
//       CHECK:   %[[S:.*]] = stablehlo.add %[[T]], %[[B]] : tensor<6x4xf32>
//       CHECK:   stablehlo.dot_general
//       CHECK:   %[[OWN:.*]] = stablehlo.add {{.*}} : tensor<6x4xf32>
//       CHECK:   %[[FROM:.*]] = "stablehlo.collective_permute"(%[[S]])
//       CHECK:   %[[R:.*]] = stablehlo.add %[[FROM]], %[[OWN]]
//   CHECK-NOT:   reduce_scatter
//       CHECK:   return %[[R]]
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @scattered(%x: tensor<8x5xf32>, %w: tensor<5x6xf32>, %b: tensor<6x8xf32>) -> tensor<6x4xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x5xf32>, tensor<5x6xf32>) -> tensor<8x6xf32>
  %t = stablehlo.transpose %y, dims = [1, 0] : (tensor<8x6xf32>) -> tensor<6x8xf32>
  %s = stablehlo.add %t, %b : tensor<6x8xf32>
  %r = "stablehlo.reduce_scatter"(%s) <{scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %z = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %z : tensor<f32>
  }) : (tensor<6x8xf32>) -> tensor<6x4xf32>
  return %r : tensor<6x4xf32>
}
}

// -----

/// A sum that every rank needs is reduced in contiguous pieces, along the outermost dimension that can be divided.

// CHECK-LABEL: func @reduced
//       CHECK:   %[[X0:.*]] = stablehlo.slice %arg0 [0:3, 0:{{.*}}, 0:5]
//       CHECK:   %[[P0:.*]] = stablehlo.dot_general
//       CHECK:   %[[R0:.*]] = "stablehlo.all_reduce"(%[[P0]])
//       CHECK:   "stablehlo.all_reduce"
//       CHECK:   stablehlo.concatenate %[[R0]], {{.*}} dim = 1
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @reduced(%x: tensor<3x8x5xf32>, %w: tensor<5x6xf32>) -> tensor<3x8x6xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<3x8x5xf32>, tensor<5x6xf32>) -> tensor<3x8x6xf32>
  %r = "stablehlo.all_reduce"(%y) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %z = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %z : tensor<f32>
  }) : (tensor<3x8x6xf32>) -> tensor<3x8x6xf32>
  return %r : tensor<3x8x6xf32>
}
}

// -----

/// Not in pieces: something else uses the product, no product is near, groups of different sizes.

// CHECK-LABEL: func @negative
//   CHECK-NOT:   collective_permute
//       CHECK:   stablehlo.dot_general {{.*}} -> tensor<8x6xf32>
//       CHECK:   reduce_scatter
//       CHECK:   all_gather
//   CHECK-NOT:   collective_permute
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @negative(%x: tensor<8x5xf32>, %w: tensor<5x6xf32>) -> (tensor<8x6xf32>, tensor<8x6xf32>) {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x5xf32>, tensor<5x6xf32>) -> tensor<8x6xf32>
  %r = "stablehlo.reduce_scatter"(%y) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %z = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %z : tensor<f32>
  }) : (tensor<8x6xf32>) -> tensor<4x6xf32>
  %g = "stablehlo.all_gather"(%r) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> : (tensor<4x6xf32>) -> tensor<8x6xf32>
  return %y, %g : tensor<8x6xf32>, tensor<8x6xf32>
}
}

// -----

/// Pieces of a product of eight bits are added in f32, too.

// CHECK-LABEL: func @gathered_sums_of_eight_bits
//       CHECK:   stablehlo.dot_general {{.*}} -> tensor<6x5xf32>
//       CHECK:   stablehlo.dot_general {{.*}} -> tensor<6x5xf32>
//       CHECK:   %[[SUM:.*]] = stablehlo.add {{.*}} : tensor<6x5xf32>
//       CHECK:   stablehlo.convert %[[SUM]] : (tensor<6x5xf32>) -> tensor<6x5xf8E4M3FN>
module attributes {mhlo.num_partitions = 4 : i32} {
func.func @gathered_sums_of_eight_bits(%x: tensor<6x16xf8E4M3FN>, %w: tensor<8x5xf8E4M3FN>) -> tensor<6x5xf8E4M3FN> {
  %g = "stablehlo.all_gather"(%w) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<8x5xf8E4M3FN>) -> tensor<16x5xf8E4M3FN>
  %y = stablehlo.dot_general %x, %g, contracting_dims = [1] x [0] : (tensor<6x16xf8E4M3FN>, tensor<16x5xf8E4M3FN>) -> tensor<6x5xf8E4M3FN>
  return %y : tensor<6x5xf8E4M3FN>
}
}

// -----

/// A sum that converts its operands first stays whole.

// CHECK-LABEL: func @negative_promoting
//       CHECK:   stablehlo.dot_general {{.*}} -> tensor<8x6xi8>
//       CHECK:   "stablehlo.reduce_scatter"
//       CHECK:   stablehlo.dot_general {{.*}} -> tensor<8x6xi8>
//       CHECK:   "stablehlo.all_reduce"
module attributes {mhlo.num_partitions = 4 : i32} {
func.func @negative_promoting(%x: tensor<8x16xi8>, %w: tensor<16x6xi8>) -> (tensor<2x6xi32>, tensor<8x6xi32>) {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xi8>, tensor<16x6xi8>) -> tensor<8x6xi8>
  %0 = "stablehlo.reduce_scatter"(%y) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<i32>, %rhs: tensor<i32>):
    %both = stablehlo.add %lhs, %rhs : tensor<i32>
    stablehlo.return %both : tensor<i32>
  }) : (tensor<8x6xi8>) -> tensor<2x6xi32>
  %z = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xi8>, tensor<16x6xi8>) -> tensor<8x6xi8>
  %1 = "stablehlo.all_reduce"(%z) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<i32>, %rhs: tensor<i32>):
    %both = stablehlo.add %lhs, %rhs : tensor<i32>
    stablehlo.return %both : tensor<i32>
  }) : (tensor<8x6xi8>) -> tensor<8x6xi32>
  return %0, %1 : tensor<2x6xi32>, tensor<8x6xi32>
}
}
