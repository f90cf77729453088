// RUN: tilewright-opt %s --simplify-inline --distribute-split --split-input-file | FileCheck %s

/// A device slices the part of its shard that is nearest, moves it to where it belongs, with -0.0
/// elsewhere, and the results are added: -0.0 + x is x, also for -0.0.

// CHECK-LABEL: module @sliced
//       CHECK:   func.func public @main(%[[X:.*]]: tensor<4x6xf32> {{.*}}, %[[I:.*]]: tensor<ui8>
//   CHECK-NOT:   all_gather
//       CHECK:   stablehlo.clamp %{{.*}}, %[[I]], %{{.*}} : tensor<ui8>
//       CHECK:   %[[PART:.*]] = stablehlo.dynamic_slice %[[X]], {{.*}} -> tensor<4x6xf32>
//       CHECK:   %[[NOTHING:.*]] = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
//       CHECK:   %[[PADDED:.*]] = stablehlo.pad %[[PART]], %[[NOTHING]], low = [5, 0], high = [5, 0]
//       CHECK:   %[[MINE:.*]] = stablehlo.dynamic_slice %[[PADDED]], {{.*}} -> tensor<5x6xf32>
//       CHECK:   "stablehlo.all_reduce"(%[[MINE]])
//       CHECK:     stablehlo.add
module @sliced attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}, %i: tensor<ui8>) -> tensor<5x6xf32> {
    %0 = stablehlo.dynamic_slice %x, %i, %i, sizes = [5, 6] : (tensor<16x6xf32>, tensor<ui8>, tensor<ui8>) -> tensor<5x6xf32>
    return %0 : tensor<5x6xf32>
  }
}

// -----

/// A device updates the rows that fall into its shard. Nothing is sent.

// CHECK-LABEL: module @updated
//       CHECK:   func.func public @main(%[[X:.*]]: tensor<4x6xf32>
//   CHECK-NOT:   stablehlo.all_
//       CHECK:   %[[NEW:.*]] = stablehlo.dynamic_slice %{{.*}} -> tensor<3x6xf32>
//       CHECK:   %[[OLD:.*]] = stablehlo.dynamic_slice %[[X]], {{.*}} -> tensor<3x6xf32>
//       CHECK:   %[[BOTH:.*]] = stablehlo.select %{{.*}}, %[[NEW]], %[[OLD]] : tensor<3x6xi1>, tensor<3x6xf32>
//       CHECK:   stablehlo.dynamic_update_slice %[[X]], %[[BOTH]],
//   CHECK-NOT:   stablehlo.all_
//       CHECK:   return
module @updated attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}, %u: tensor<3x6xf32>, %i: tensor<i32>) -> tensor<16x6xf32> {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_update_slice %x, %u, %i, %z : (tensor<16x6xf32>, tensor<3x6xf32>, tensor<i32>, tensor<i32>) -> tensor<16x6xf32>
    return %0 : tensor<16x6xf32>
  }
}

// -----

/// Rows of a sharded table: indices are clamped to the whole table, and a row that another device
/// holds is masked. Writing needs no mask: updates outside of the shard are skipped.

// CHECK-LABEL: module @rows
//       CHECK:   func.func public @main(%[[T:.*]]: tensor<4x6xf32> {{.*}}, %[[I:.*]]: tensor<3x1xi32>
//   CHECK-NOT:   all_gather
//       CHECK:   %[[C:.*]] = stablehlo.clamp %{{.*}}, %[[I]], %{{.*}} : (tensor<i32>, tensor<3x1xi32>, tensor<i32>)
//       CHECK:   %[[L:.*]] = stablehlo.subtract %[[C]], %{{.*}} : tensor<3x1xi32>
//       CHECK:   %[[G:.*]] = "stablehlo.gather"(%[[T]], %[[L]])
//       CHECK:   %[[M:.*]] = stablehlo.select %{{.*}}, %[[G]], %{{.*}} : tensor<3x6xi1>, tensor<3x6xf32>
//       CHECK:   %[[R:.*]] = "stablehlo.all_reduce"(%[[M]])
//       CHECK:   %[[S:.*]] = stablehlo.subtract %[[I]], %{{.*}} : tensor<3x1xi32>
//       CHECK:   "stablehlo.scatter"(%[[T]], %[[S]], %[[R]])
//   CHECK-NOT:   all_reduce
//       CHECK:   return
module @rows attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%t: tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}, %i: tensor<3x1xi32>) -> tensor<16x6xf32> {
    %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> : (tensor<16x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>
    %1 = "stablehlo.scatter"(%t, %i, %0) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      stablehlo.return %b : tensor<f32>
    }) : (tensor<16x6xf32>, tensor<3x1xi32>, tensor<3x6xf32>) -> tensor<16x6xf32>
    return %1 : tensor<16x6xf32>
  }
}
