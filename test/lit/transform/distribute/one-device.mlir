// RUN: tilewright-opt %s --simplify-inline --distribute-split --split-input-file | FileCheck %s

/// A callback that its sharding puts on device 0 runs there alone: jax.debug.print prints once.

// CHECK-LABEL: module @print
//       CHECK:   %[[X:.*]] = "stablehlo.all_gather"({{.*}} -> tensor<8xi32>
//       CHECK:   %[[ZERO:.*]] = stablehlo.constant dense<0> : tensor<i32>
//       CHECK:   %[[ID:.*]] = stablehlo.partition_id
//       CHECK:   %[[HERE:.*]] = stablehlo.convert %[[ID]]
//       CHECK:   %[[IS_HERE:.*]] = stablehlo.compare EQ, %[[HERE]], %[[ZERO]]
//       CHECK:   "stablehlo.if"(%[[IS_HERE]]) ({
//       CHECK:     stablehlo.custom_call @print(%[[X]])
//       CHECK:   }, {
//  CHECK-NEXT:     stablehlo.return
//   CHECK-NOT:   collective_broadcast
module @print attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  sdy.mesh @maximal_mesh_0 = <[], device_ids=[0]>
  func.func public @main(%x: tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xi32> {
    stablehlo.custom_call @print(%x) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_0, []>]>} : (tensor<8xi32>) -> ()
    return %x : tensor<8xi32>
  }
}

// -----

/// What it returns goes to the other devices. The device that runs it is the first of the group.

// CHECK-LABEL: module @result
//       CHECK:   %[[MINE:.*]] = "stablehlo.if"
//       CHECK:     stablehlo.custom_call @ask
//       CHECK:   }, {
//       CHECK:     %[[NOTHING:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<8xf32>
//       CHECK:     stablehlo.return %[[NOTHING]]
//       CHECK:   "stablehlo.collective_broadcast"(%[[MINE]]) {{.*}}replica_groups = dense<{{\[\[}}2, 0, 1, 3]]>
module @result attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  sdy.mesh @maximal_mesh_2 = <[], device_ids=[2]>
  func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
    %0 = stablehlo.custom_call @ask(%x) {sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_2, []>]>} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.add %0, %x : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

// -----

/// In a region that is written per device, every device makes its own call.

// CHECK-LABEL: module @manual
//   CHECK-NOT:   stablehlo.if
//       CHECK:   stablehlo.custom_call @print
module @manual attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  sdy.mesh @maximal_mesh_0 = <[], device_ids=[0]>
  func.func public @main(%x: tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xi32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%piece: tensor<2xi32>) {
      stablehlo.custom_call @print(%piece) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_0, []>]>} : (tensor<2xi32>) -> ()
      sdy.return %piece : tensor<2xi32>
    } : (tensor<8xi32>) -> tensor<8xi32>
    return %0 : tensor<8xi32>
  }
}
