// RUN: tilewright-opt %s --lower-collectives --split-input-file | FileCheck %s

/// Groups become ranks, and each collective a start and a done. Also inside of a loop.

// CHECK-LABEL: func @all_reduce
//       CHECK:   %[[S:.*]] = exec.collective_start <kind = all_reduce, reduction = maximum>
//  CHECK-SAME:     groups = dense<{{\[}}[0, 1]]> : tensor<1x2xi64>, id = 0
//       CHECK:   exec.collective_done(%[[S]]) {id = 0
//       CHECK:   exec.rank_id() {kind = #exec.rank_kind<partition>}
//       CHECK:   exec.rank_id() {kind = #exec.rank_kind<replica>}
//       CHECK:   stablehlo.while
//       CHECK:     exec.collective_start <kind = collective_permute>
//  CHECK-SAME:     id = 1
module attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 2 : i32} {
func.func @all_reduce(%a: tensor<4xf32>, %p: tensor<i1>) -> (tensor<4xf32>, tensor<ui32>, tensor<ui32>) {
  %0 = "stablehlo.all_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.maximum %y, %x : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) {replica_groups = dense<[[0]]> : tensor<1x1xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.partition_id : tensor<ui32>
  %2 = stablehlo.replica_id : tensor<ui32>
  %3:2 = stablehlo.while(%v = %0, %q = %p) : tensor<4xf32>, tensor<i1>
  cond {
    stablehlo.return %q : tensor<i1>
  } do {
    %n = "stablehlo.collective_permute"(%v) {source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>} : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %n, %q : tensor<4xf32>, tensor<i1>
  }
  return %3#0, %1, %2 : tensor<4xf32>, tensor<ui32>, tensor<ui32>
}
}

// -----

// JAX writes this collective as a custom call. On devices the ranks first exchange where rows arrive.
// CHECK-LABEL: func.func @ragged(
// CHECK-SAME: %[[X:.*]]: tensor<4x2xf32>, %[[OUT:.*]]: tensor<6x2xf32>, %[[LIST:.*]]: tensor<2xi32>)
// CHECK: %[[S:.*]] = exec.collective_start <kind = all_to_all>(%[[LIST]]) {groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi64>, id = 0 : i64}
// CHECK: %[[OFFSETS:.*]] = exec.collective_done(%[[S]]) {id = 0 : i64}
// CHECK: %[[R:.*]] = exec.collective_start <kind = ragged_all_to_all>(%[[X]], %[[OUT]], %[[LIST]], %[[LIST]], %[[OFFSETS]], %[[LIST]]) {groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi64>, id = 1 : i64}
// CHECK: exec.collective_done(%[[R]]) {id = 1 : i64}
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @ragged(%x: tensor<4x2xf32>, %out: tensor<6x2xf32>, %list: tensor<2xi32>) -> tensor<6x2xf32> {
    %y = stablehlo.custom_call @ragged_all_to_all(%x, %out, %list, %list, %list, %list) {api_version = 4 : i32,
        backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}
        : (tensor<4x2xf32>, tensor<6x2xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<6x2xf32>
    return %y : tensor<6x2xf32>
  }
}
