// RUN: tilewright-opt %s --simplify-inline --distribute-split --split-input-file | FileCheck %s

/// A cumulative sum: the scan of the shard, the last row of every shard, and the sum of those
/// before this one.

// CHECK-LABEL: module @scan
//       CHECK:   %[[L:.*]] = "stablehlo.reduce_window"({{.*}}) <{padding = dense<{{\[\[}}3, 0], [0, 0]]> {{.*}}window_dimensions = array<i64: 4, 1>}>
//       CHECK:   %[[LAST:.*]] = stablehlo.slice %[[L]] [3:4, 0:6]
//       CHECK:   "stablehlo.all_gather"(%[[LAST]]){{.*}} -> tensor<4x6xf32>
//       CHECK:   stablehlo.compare LT
//       CHECK:   stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<4x6xf32>
//       CHECK:   "stablehlo.map"(%{{.*}}, %[[L]])
module @scan attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}) -> tensor<16x6xf32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%x, %z) <{padding = dense<[[15, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 16, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<16x6xf32>, tensor<f32>) -> tensor<16x6xf32>
    return %0 : tensor<16x6xf32>
  }
}

// -----

/// A window of another size is not a scan.

// CHECK-LABEL: module @negative_window
//   CHECK-NOT:   stablehlo.map
//       CHECK:   return
module @negative_window attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}) -> tensor<16x6xf32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%x, %z) <{padding = dense<[[3, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 4, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<16x6xf32>, tensor<f32>) -> tensor<16x6xf32>
    return %0 : tensor<16x6xf32>
  }
}

// -----

/// A body that no collective has: partial results are gathered and reduced by the same body.

// CHECK-LABEL: module @exclusive_or
//       CHECK:   %[[P:.*]] = stablehlo.reduce({{.*}}) applies stablehlo.xor across dimensions = [0] : (tensor<4x6xi32>
//       CHECK:   %[[ROW:.*]] = stablehlo.reshape %[[P]] : (tensor<6xi32>) -> tensor<1x6xi32>
//       CHECK:   "stablehlo.all_gather"
//       CHECK:   stablehlo.reduce({{.*}}) applies stablehlo.xor across dimensions = [0] : (tensor<4x6xi32>
module @exclusive_or attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<16x6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}) -> tensor<6xi32> {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.reduce(%x init: %z) applies stablehlo.xor across dimensions = [0] : (tensor<16x6xi32>, tensor<i32>) -> tensor<6xi32>
    return %0 : tensor<6xi32>
  }
}

// -----

/// The largest two of each shard, and of these the largest two. Positions are those of the whole
/// operand.

// CHECK-LABEL: module @top
//       CHECK:   stablehlo.iota dim = 1 : tensor<3x4xi32>
//       CHECK:   "stablehlo.sort"
//       CHECK:   (tensor<3x4xf32>, tensor<3x4xi32>)
// CHECK-COUNT-2: "stablehlo.all_gather"
//       CHECK:   "stablehlo.sort"
//       CHECK:   (tensor<3x8xf32>, tensor<3x8xi32>)
//       CHECK:   stablehlo.slice {{.*}} -> tensor<3x2xf32>
module @top attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<3x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"b"}]>}) -> (tensor<3x2xf32>, tensor<3x2xi32>) {
    %0:2 = stablehlo.composite "chlo.top_k" %x {composite_attributes = {k = 2 : i64}, decomposition = @impl, version = 1 : i32} : (tensor<3x16xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
    return %0#0, %0#1 : tensor<3x2xf32>, tensor<3x2xi32>
  }
  func.func private @impl(%x: tensor<3x16xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>) {
    %0 = stablehlo.iota dim = 1 : tensor<3x16xi32>
    %1:2 = "stablehlo.sort"(%x, %0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
      %4 = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }) : (tensor<3x16xf32>, tensor<3x16xi32>) -> (tensor<3x16xf32>, tensor<3x16xi32>)
    %2 = stablehlo.slice %1#0 [0:3, 0:2] : (tensor<3x16xf32>) -> tensor<3x2xf32>
    %3 = stablehlo.slice %1#1 [0:3, 0:2] : (tensor<3x16xi32>) -> tensor<3x2xi32>
    return %2, %3 : tensor<3x2xf32>, tensor<3x2xi32>
  }
}
