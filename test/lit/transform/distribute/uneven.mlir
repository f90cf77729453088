// RUN: tilewright-opt %s --simplify-inline --distribute-split --split-input-file | FileCheck %s

/// Ten rows over four devices are twelve: each computes three of them, before and after the constraint. Only the sum
/// masks the padding.

// CHECK-LABEL: module @rows
//       CHECK:   stablehlo.pad %{{.*}} high = [2, 0]{{.*}} -> tensor<12x3xf32>
//       CHECK:   stablehlo.dot_general {{.*}} -> tensor<3x5xf32>
//       CHECK:   %[[E:.*]] = stablehlo.exponential %{{.*}} : tensor<3x5xf32>
//       CHECK:   %[[IS_REAL:.*]] = stablehlo.compare LT, {{.*}} -> tensor<3x5xi1>
//       CHECK:   %[[M:.*]] = stablehlo.select %[[IS_REAL]], %[[E]], %{{.*}} : tensor<3x5xi1>, tensor<3x5xf32>
//   CHECK-NOT:   stablehlo.select
//       CHECK:   stablehlo.reduce(%[[M]] init: {{.*}} -> tensor<f32>
module @rows attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<10x3xf32>, %w: tensor<3x5xf32>) -> tensor<f32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<10x3xf32>, tensor<3x5xf32>) -> tensor<10x5xf32>
    %1 = stablehlo.tanh %0 : tensor<10x5xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}, {}]> : tensor<10x5xf32>
    %3 = stablehlo.exponential %2 : tensor<10x5xf32>
    %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<10x5xf32>, tensor<f32>) -> tensor<f32>
    return %4 : tensor<f32>
  }
}

// -----

/// A result has no padding.

// CHECK-LABEL: module @rows_of_a_result
//       CHECK:   %[[E:.*]] = stablehlo.exponential %{{.*}} : tensor<3x5xf32>
//       CHECK:   "stablehlo.all_gather"(%[[E]]) {{.*}} -> tensor<12x5xf32>
//       CHECK:   stablehlo.slice {{.*}} [0:10, 0:5] : (tensor<12x5xf32>) -> tensor<10x5xf32>
module @rows_of_a_result attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<10x3xf32>, %w: tensor<3x5xf32>) -> tensor<10x5xf32> {
    %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<10x3xf32>, tensor<3x5xf32>) -> tensor<10x5xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<10x5xf32>
    %2 = stablehlo.exponential %1 : tensor<10x5xf32>
    return %2 : tensor<10x5xf32>
  }
}

// -----

/// A contraction along the padding masks both operands: the padding may hold infinities. A dimension of 10 that is sorted
/// is read without it.

// CHECK-LABEL: module @contracted
//       CHECK:   stablehlo.log %{{.*}} : tensor<3xf32>
//       CHECK:   stablehlo.slice {{.*}} [0:10] : (tensor<12xf32>) -> tensor<10xf32>
//       CHECK:   %[[A:.*]] = stablehlo.select {{.*}}tensor<3xf32>
//       CHECK:   %[[B:.*]] = stablehlo.select {{.*}}tensor<3xf32>
//       CHECK:   stablehlo.dot_general %[[A]], %[[B]]
//       CHECK:   "stablehlo.sort"({{.*}}
//       CHECK:   (tensor<10xf32>) -> tensor<10xf32>
module @contracted attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<10xf32>) -> (tensor<f32>, tensor<10xf32>) {
    %0 = stablehlo.log %a : tensor<10xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]> : tensor<10xf32>
    %2 = stablehlo.dot_general %1, %1, contracting_dims = [0] x [0] : (tensor<10xf32>, tensor<10xf32>) -> tensor<f32>
    %3 = "stablehlo.sort"(%1) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %less = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    }) : (tensor<10xf32>) -> tensor<10xf32>
    return %2, %3 : tensor<f32>, tensor<10xf32>
  }
}

// -----

/// Each device sorts whole rows, also if the number of the sorted dimension counts from the end.

// CHECK-LABEL: module @sorted_from_end
//       CHECK:   "stablehlo.all_to_all"({{.*}} -> tensor<1x8xf32>
//       CHECK:   "stablehlo.sort"
//       CHECK:   (tensor<1x8xf32>) -> tensor<1x8xf32>
module @sorted_from_end attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<4x8xf32> {
    %0 = "stablehlo.sort"(%a) <{dimension = -1 : i64, is_stable = true}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %less = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}
