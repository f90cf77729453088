// RUN: tilewright-opt %s --simplify-inline --distribute-split --split-input-file | FileCheck %s

/// shard_alike: what is computed whole is divided like the other member of its group.

// CHECK-LABEL: module @alike
//       CHECK:   func.func public @main(%[[X:.*]]: tensor<2x4xf32> {exec.sharding = {{.*}}}) -> (tensor<2x4xf32> {exec.sharding = {{.*}}}, tensor<2x4xf32> {exec.sharding = {{.*}}})
//   CHECK-NOT:   all_gather
//   CHECK-NOT:   sdy.sharding_group
module @alike attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
    %1 = stablehlo.exponential %0 : tensor<8x4xf32>
    sdy.sharding_group %x group_id=0 : tensor<8x4xf32>
    sdy.sharding_group %1 group_id=0 : tensor<8x4xf32>
    return %x, %1 : tensor<8x4xf32>, tensor<8x4xf32>
  }
}

// -----

/// Other groups are left alone.

// CHECK-LABEL: module @negative_other_group
//       CHECK:   func.func public @main({{.*}}) -> (tensor<2x4xf32> {exec.sharding = {{.*}}}, tensor<8x4xf32>)
module @negative_other_group attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
    sdy.sharding_group %x group_id=0 : tensor<8x4xf32>
    sdy.sharding_group %0 group_id=1 : tensor<8x4xf32>
    return %x, %0 : tensor<8x4xf32>, tensor<8x4xf32>
  }
}

// -----

/// A value in a manual region is one device's own along the manual axes: the group does not divide it along them.

// CHECK-LABEL: module @manual
//       CHECK:   %[[N:.*]] = stablehlo.negate %{{.*}} : tensor<8x4xf32>
//  CHECK-NEXT:   stablehlo.exponential %[[N]] : tensor<8x4xf32>
module @manual attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<32x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x4xf32>, tensor<32x4xf32>) {
    sdy.sharding_group %x group_id=0 : tensor<8x4xf32>
    %0 = sdy.manual_computation(%y) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%p: tensor<8x4xf32>) {
      %n = stablehlo.negate %p : tensor<8x4xf32>
      sdy.sharding_group %n group_id=0 : tensor<8x4xf32>
      %e = stablehlo.exponential %n : tensor<8x4xf32>
      sdy.return %e : tensor<8x4xf32>
    } : (tensor<32x4xf32>) -> tensor<32x4xf32>
    return %x, %0 : tensor<8x4xf32>, tensor<32x4xf32>
  }
}
