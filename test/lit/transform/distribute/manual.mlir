// RUN: tilewright-opt %s --simplify-inline --distribute-split --split-input-file | FileCheck %s

/// What shard_map asks for is how its input lies, and how its result is asked for: the one
/// collective is the program's own.

// CHECK-LABEL: module @psum
//       CHECK:   func.func public @main(%[[X:.*]]: tensor<2x2xf32> {exec.sharding = {{.*}}}) -> (tensor<2x2xf32> {exec.sharding = {{.*}}})
//  CHECK-NEXT:   %[[S:.*]] = "stablehlo.all_reduce"(%[[X]])
//   CHECK-NOT:   all_gather
//   CHECK-NOT:   dynamic_slice
//       CHECK:   return %[[S]]
module @psum attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
      -> (tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{}, {"y"}]>] manual_axes={"x", "y"} (%p: tensor<2x2xf32>) {
      %1 = "stablehlo.all_reduce"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %2 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
      sdy.return %1 : tensor<2x2xf32>
    } : (tensor<8x4xf32>) -> tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  }
}

// -----

/// From one manual computation to the next, through an op between them, nothing is gathered.

// CHECK-LABEL: module @chain
//       CHECK:   func.func public @main(%[[X:.*]]: tensor<2xf32>
//  CHECK-NEXT:   %[[A:.*]] = stablehlo.negate %[[X]] : tensor<2xf32>
//  CHECK-NEXT:   %[[B:.*]] = stablehlo.tanh %[[A]] : tensor<2xf32>
//  CHECK-NEXT:   %[[C:.*]] = stablehlo.abs %[[B]] : tensor<2xf32>
//  CHECK-NEXT:   return %[[C]]
module @chain attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%p: tensor<2xf32>) {
      %n = stablehlo.negate %p : tensor<2xf32>
      sdy.return %n : tensor<2xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.tanh %0 : tensor<8xf32>
    %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%p: tensor<2xf32>) {
      %n = stablehlo.abs %p : tensor<2xf32>
      sdy.return %n : tensor<2xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %2 : tensor<8xf32>
  }
}

// -----

/// A value that is cut more finely than it is asked for is joined along the axes that are too many,
/// one that is cut less is cut further by each device.

// CHECK-LABEL: module @other_pieces
//       CHECK:   func.func public @main(%[[X:.*]]: tensor<2xf32> {{.*}}, %[[Y:.*]]: tensor<4xf32>
//   CHECK-DAG:   "stablehlo.all_gather"({{.*}}) {{.*}}replica_groups = dense<{{\[\[}}0, 1], [2, 3]]>{{.*}} -> tensor<4xf32>
//   CHECK-DAG:   stablehlo.dynamic_slice %[[Y]], {{.*}} -> tensor<2xf32>
module @other_pieces attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>},
                         %y: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x", "y"} (%p: tensor<4xf32>) {
      %n = stablehlo.negate %p : tensor<4xf32>
      sdy.return %n : tensor<4xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    %1 = sdy.manual_computation(%y) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%p: tensor<2xf32>) {
      %n = stablehlo.abs %p : tensor<2xf32>
      sdy.return %n : tensor<2xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

/// A manual computation in another one: the inner one cuts what the outer one holds.

// CHECK-LABEL: module @nested
//       CHECK:   func.func public @main(%[[X:.*]]: tensor<4x8xf32>
//       CHECK:   stablehlo.dynamic_slice %[[X]], {{.*}} -> tensor<4x4xf32>
//       CHECK:   stablehlo.negate {{.*}} : tensor<4x4xf32>
//       CHECK:   "stablehlo.all_gather"({{.*}}) {{.*}}replica_groups = dense<{{\[\[}}0, 1], [2, 3]]>
module @nested attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%p: tensor<4x8xf32>) {
      %1 = sdy.manual_computation(%p) in_shardings=[<@mesh, [{}, {"y"}]>] out_shardings=[<@mesh, [{}, {"y"}]>] manual_axes={"y"} (%q: tensor<4x4xf32>) {
        %n = stablehlo.negate %q : tensor<4x4xf32>
        sdy.return %n : tensor<4x4xf32>
      } : (tensor<4x8xf32>) -> tensor<4x8xf32>
      sdy.return %1 : tensor<4x8xf32>
    } : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}

// -----

/// Along axes that it is not written for, an open dimension is computed in the pieces that come in,
/// and a collective gets the whole of what it needs.

// CHECK-LABEL: module @other_axes
//       CHECK:   func.func public @main(%[[X:.*]]: tensor<2x4xf32> {{.*}}) -> (tensor<2x4xf32> {exec.sharding = {{.*}}}, tensor<4x4xf32> {exec.sharding = {{.*}}})
//  CHECK-NEXT:   %[[M:.*]] = stablehlo.multiply %[[X]], %[[X]] : tensor<2x4xf32>
//       CHECK:   "stablehlo.all_gather"({{.*}}) {{.*}}replica_groups = dense<{{\[\[}}0, 2], [1, 3]]>
//       CHECK:   %[[S:.*]] = "stablehlo.all_reduce"({{.*}}) {{.*}}replica_groups = dense<{{\[\[}}0, 1], [2, 3]]>
//       CHECK:   return %[[M]], %[[S]]
module @other_axes attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
    %0:2 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{?}, {"y", ?}]>]
        out_shardings=[<@mesh, [{?}, {"y", ?}]>, <@mesh, [{?}, {"y", ?}]>] manual_axes={"y"} (%p: tensor<4x4xf32>) {
      %m = stablehlo.multiply %p, %p : tensor<4x4xf32>
      %s = "stablehlo.all_reduce"(%m) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %2 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
      sdy.return %m, %s : tensor<4x4xf32>, tensor<4x4xf32>
    } : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    return %0#0, %0#1 : tensor<4x8xf32>, tensor<4x8xf32>
  }
}
