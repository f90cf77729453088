// RUN: tilewright-opt %s --simplify-inline --distribute-split --split-input-file | FileCheck %s

/// An axis that moves to another dimension takes one all_to_all.

// CHECK-LABEL: module @other_dimension
//       CHECK:   %[[R:.*]] = "stablehlo.all_to_all"(%{{.*}}) <{{{.*}}concat_dimension = 0 : i64{{.*}}split_dimension = 1 : i64}>
//  CHECK-SAME:     (tensor<16x32xf32>) -> tensor<64x8xf32>
//  CHECK-NEXT:   return %[[R]]
module @other_dimension attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%x: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
      -> (tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    return %x : tensor<64x32xf32>
  }
}

// -----

/// Four shards become two along another axis: the smaller shards are permuted, then gathered along a half of the first axis.

// CHECK-LABEL: module @other_axis
//       CHECK:   %[[P:.*]] = "stablehlo.collective_permute"(%{{.*}}) {{.*}} -> tensor<16x32xf32>
//  CHECK-NEXT:   %[[R:.*]] = "stablehlo.all_gather"(%[[P]]) <{all_gather_dim = 0 : i64
//  CHECK-SAME:     -> tensor<32x32xf32>
//  CHECK-NEXT:   return %[[R]]
module @other_axis attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%x: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
      -> (tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
    return %x : tensor<64x32xf32>
  }
}

// -----

/// Terms that are wanted as shards are reduced and scattered at once.

// CHECK-LABEL: module @scattered
//       CHECK:   %[[R:.*]] = "stablehlo.reduce_scatter"(%{{.*}}) <{{{.*}}scatter_dimension = 1 : i64
//       CHECK:     stablehlo.add
//       CHECK:   (tensor<8x4xf32>) -> tensor<8x1xf32>
//  CHECK-NEXT:   return %[[R]]
module @scattered attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>})
      -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    return %x : tensor<8x4xf32>
  }
}

// -----

/// Two axes that change their places are one permute between devices; those that keep their shard keep it.

// CHECK-LABEL: module @transposed
//       CHECK:   "stablehlo.collective_permute"(%{{.*}}) <{{{.*}}source_target_pairs = dense<{{\[\[}}0, 0], [1, 2], [2, 1], [3, 3]]>
module @transposed attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
      -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
    return %x : tensor<8x8xf32>
  }
}

// -----

/// Both axes divide the dimensions that a reshape merges; without the outer one, the inner one
/// would divide columns, which are not adjacent in the result.

// CHECK-LABEL: module @merged_in_another_order
//   CHECK-NOT:   stablehlo.reshape {{.*}} (tensor<2x1xui32>) -> tensor<2xui32>
//       CHECK:   return
module @merged_in_another_order attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["a0"=2, "a1"=2]>
  func.func public @main(%x: tensor<2x2xui32>) -> (tensor<4xui32> {sdy.sharding = #sdy.sharding<@mesh, [{"a1", "a0"}]>}) {
    %0 = sdy.sharding_constraint %x <@mesh, [{"a0", "a1"}, {}]> : tensor<2x2xui32>
    %1 = stablehlo.reshape %0 : (tensor<2x2xui32>) -> tensor<4xui32>
    return %1 : tensor<4xui32>
  }
}
