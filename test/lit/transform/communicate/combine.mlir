// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(communicate-combine{bytes=96}))' --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(communicate-combine{bytes=0}))' --split-input-file | FileCheck %s --check-prefix=NONE
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(communicate-combine{cluster=%S/Inputs/slow.cluster}))' --split-input-file | FileCheck %s --check-prefix=SLOW

/// Three sums of 32 bytes fill a bucket of 96; the fourth stays alone. A user of the first one moves behind the bucket.

// CHECK-LABEL: func @sums
//  CHECK-SAME:   (%[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}, %[[C:.*]]: {{.*}}, %[[D:.*]]: {{.*}})
//       CHECK:   %[[N:.*]] = stablehlo.negate %[[B]]
//       CHECK:   %[[R:.*]]:3 = "stablehlo.all_reduce"(%[[A]], %[[N]], %[[C]])
//       CHECK:   stablehlo.exponential %[[R]]#0
//       CHECK:   %[[S:.*]] = "stablehlo.all_reduce"(%[[D]])
//       CHECK:   return %{{.*}}, %[[R]]#1, %[[R]]#2, %[[S]]
//  NONE-LABEL: func @sums
//NONE-COUNT-4:   "stablehlo.all_reduce"(%{{[a-z0-9]*}})
/// On a slow link a bucket of 32 bytes is full; at typical rates all four sums would be one.
//  SLOW-LABEL: func @sums
//SLOW-COUNT-4:   "stablehlo.all_reduce"(%{{[a-z0-9]*}})
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @sums(%a: tensor<8xf32>, %b: tensor<4x2xf32>, %c: tensor<8xf32>, %d: tensor<8xf32>) -> (tensor<8xf32>, tensor<4x2xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %e = stablehlo.exponential %0 : tensor<8xf32>
  %n = stablehlo.negate %b : tensor<4x2xf32>
  %1 = "stablehlo.all_reduce"(%n) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %2 = "stablehlo.all_reduce"(%c) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = "stablehlo.all_reduce"(%d) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %e, %1, %2, %3 : tensor<8xf32>, tensor<4x2xf32>, tensor<8xf32>, tensor<8xf32>
}
}

// -----

/// A sum of a sum, another reduction, another element type and other ranks stay apart.

// CHECK-LABEL: func @negative_different
//CHECK-COUNT-5:  "stablehlo.all_reduce"(%{{[a-z0-9]*}})
module attributes {mhlo.num_partitions = 4 : i32} {
func.func @negative_different(%a: tensor<8xf32>, %i: tensor<8xi32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xi32>, tensor<8xf32>) {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %e = stablehlo.exponential %0 : tensor<8xf32>
  %1 = "stablehlo.all_reduce"(%e) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = "stablehlo.all_reduce"(%i) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>, use_global_device_ids}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<8xi32>) -> tensor<8xi32>
  %4 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %1, %2, %3, %4 : tensor<8xf32>, tensor<8xf32>, tensor<8xi32>, tensor<8xf32>
}
}

// -----

/// Small reduce_scatters become one of a concatenation with a row for each rank; a scattered dimension that is not the first moves to
/// the front.

// CHECK-LABEL: func @scatters
//  CHECK-SAME:   (%[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}})
//       CHECK:   %[[RA:.*]] = stablehlo.reshape %[[A]] : (tensor<8xf32>) -> tensor<2x4xf32>
//       CHECK:   %[[SB:.*]] = stablehlo.reshape %[[B]] : (tensor<2x4xf32>) -> tensor<2x2x2xf32>
//       CHECK:   %[[TB:.*]] = stablehlo.transpose %[[SB]], dims = [1, 0, 2]
//       CHECK:   %[[RB:.*]] = stablehlo.reshape %[[TB]] : (tensor<2x2x2xf32>) -> tensor<2x4xf32>
//       CHECK:   %[[J:.*]] = stablehlo.concatenate %[[RA]], %[[RB]], dim = 1
//       CHECK:   %[[R:.*]] = "stablehlo.reduce_scatter"(%[[J]]) <{{{.*}}scatter_dimension = 0 : i64
//       CHECK:   stablehlo.slice %[[R]] [0:1, 0:4]
//       CHECK:   stablehlo.slice %[[R]] [0:1, 4:8]
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @scatters(%a: tensor<8xf32>, %b: tensor<2x4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>) {
  %0 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<4xf32>
  %1 = "stablehlo.reduce_scatter"(%b) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, scatter_dimension = 1 : i64, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4xf32>) -> tensor<2x2xf32>
  return %0, %1 : tensor<4xf32>, tensor<2x2xf32>
}
}
