// RUN: tilewright-opt %s --simplify --split-input-file | FileCheck %s

/// Groups of one process give the operand back, however many groups there are.

// CHECK-LABEL: func.func @main
//  CHECK-SAME:   (%[[A:.*]]: tensor<4x2xf32>, %[[B:.*]]: tensor<2xi32>)
//   CHECK-NOT:   stablehlo
//       CHECK:   return %[[A]], %[[B]], %[[A]], %[[A]], %[[A]], %[[A]]
#channel = #stablehlo.channel_handle<handle = 1, type = 0>
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @main(%a: tensor<4x2xf32>, %b: tensor<2xi32>) -> (tensor<4x2xf32>, tensor<2xi32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>) {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>, channel_handle = #channel, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %1 = "stablehlo.all_gather"(%b) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>, channel_handle = #channel, use_global_device_ids}> : (tensor<2xi32>) -> tensor<2xi32>
  %2 = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>, channel_handle = #channel, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %3 = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %4 = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %5 = "stablehlo.cross-replica-sum"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<4x2xf32>, tensor<2xi32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>
}
}

// -----

/// A program of one process: groups of all processes, permutes and ids.

// CHECK-LABEL: func.func @alone
//  CHECK-SAME:   (%[[A:.*]]: tensor<4xf32>)
//   CHECK-DAG:   %[[ZERO:.*]] = stablehlo.constant dense<0> : tensor<ui32>
//   CHECK-DAG:   %[[ZEROS:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
//       CHECK:   return %[[A]], %[[A]], %[[ZEROS]], %[[ZERO]], %[[ZERO]]
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
func.func @alone(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<ui32>, tensor<ui32>) {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<> : tensor<0x0xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<0> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<> : tensor<0x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  %3 = stablehlo.partition_id : tensor<ui32>
  %4 = stablehlo.replica_id : tensor<ui32>
  return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<ui32>, tensor<ui32>
}
}

// -----

/// With a channel and without global ids, a group of one replica has all of its partitions. Two processes exchange.

// CHECK-LABEL: func.func @negative_several_partitions
//       CHECK:   stablehlo.all_reduce
//       CHECK:   stablehlo.collective_permute
//       CHECK:   stablehlo.partition_id
#channel = #stablehlo.channel_handle<handle = 1, type = 0>
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @negative_several_partitions(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<ui32>) {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>, channel_handle = #channel}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.collective_permute"(%0) <{source_target_pairs = dense<0> : tensor<1x2xi64>, channel_handle = #channel}> : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.partition_id : tensor<ui32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<ui32>
}
}

// -----

/// Ranks outside of every group get zeros from a broadcast or a reduction to a root.

// CHECK-LABEL: func.func @negative_incomplete_groups
//       CHECK:   stablehlo.collective_broadcast
//       CHECK:   stablehlo.collective_reduce
#channel = #stablehlo.channel_handle<handle = 1, type = 0>
module attributes {mhlo.num_partitions = 4 : i32} {
func.func @negative_incomplete_groups(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>, channel_handle = #channel, use_global_device_ids}> : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.collective_reduce"(%a) <{replica_groups = dense<[[2]]> : tensor<1x1xi64>, channel_handle = #channel, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
}
