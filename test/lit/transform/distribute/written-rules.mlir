// RUN: tilewright-opt %s --distribute-split --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --simplify-canonicalize --split-input-file | FileCheck %s --check-prefix=ONE

/// A rule in the program says along which dimensions a custom call is computed in shards.

// CHECK-LABEL: module @rows
//   CHECK-NOT:   all_gather
//       CHECK:   stablehlo.custom_call @mine(%arg0) : (tensor<2x16xf32>) -> tensor<2x32xf32>
//  CHECK-NEXT:   return
module @rows attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x32xf32> {
    %0 = stablehlo.custom_call @mine(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, k]) {i=8, j=16, k=32} need_replication={j, k}, custom>} : (tensor<8x16xf32>) -> tensor<8x32xf32>
    return %0 : tensor<8x32xf32>
  }
}

// -----

/// The first of two factors of a dimension.

// CHECK-LABEL: module @product_of_factors
//   CHECK-NOT:   all_gather
//       CHECK:   stablehlo.custom_call @mine(%arg0) : (tensor<8xf32>) -> tensor<2x4xf32>
module @product_of_factors attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8x4xf32> {
    %0 = stablehlo.custom_call @mine(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([ij])->([i, j]) {i=8, j=4}, custom>} : (tensor<32xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}

// -----

/// A reduction gives terms of a sum.

// CHECK-LABEL: module @reduction
//       CHECK:   %[[TERM:.*]] = stablehlo.custom_call @mine(%arg0, %arg1) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
//       CHECK:   "stablehlo.all_reduce"(%[[TERM]])
module @reduction attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                         %b: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
    %0 = stablehlo.custom_call @mine(%a, %b) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=4, k=16} reduction={k}, custom>} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}

// -----

/// Factors that cannot be split: one that not all results have, so that each device would compute
/// another value of the second; one of a permutation; one that only the result has.

// CHECK-LABEL: module @negative_not_in_all_results
//       CHECK:   %[[ALL:.*]] = "stablehlo.all_gather"(%arg0)
//       CHECK:   stablehlo.custom_call @mine(%[[ALL]]) {{.*}} : (tensor<16xf32>) -> (tensor<16xf32>, tensor<f32>)
module @negative_not_in_all_results attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32>, tensor<f32>) {
    %0:2 = stablehlo.custom_call @mine(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i], []) {i=16}, custom>} : (tensor<16xf32>) -> (tensor<16xf32>, tensor<f32>)
    return %0#0, %0#1 : tensor<16xf32>, tensor<f32>
  }
}

// -----

// CHECK-LABEL: module @negative_permutation
//       CHECK:   %[[ALL:.*]] = "stablehlo.all_gather"(%arg0)
//       CHECK:   stablehlo.custom_call @mine(%[[ALL]]) {{.*}} : (tensor<16xf32>) -> tensor<16xf32>
module @negative_permutation attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<16xf32> {
    %0 = stablehlo.custom_call @mine(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=16} permutation={i}, custom>} : (tensor<16xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

// CHECK-LABEL: module @negative_only_in_the_result
//       CHECK:   stablehlo.custom_call @mine(%arg0) {{.*}} : (tensor<4xf32>) -> tensor<16x4xf32>
module @negative_only_in_the_result attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<4xf32>) -> (tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.custom_call @mine(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([j])->([i, j]) {i=16, j=4}, custom>} : (tensor<4xf32>) -> tensor<16x4xf32>
    return %0 : tensor<16x4xf32>
  }
}

// -----

/// The rule of a function: a sharding of its parameter reaches its result, although the body needs
/// the whole parameter. The call leaves nothing behind, and does nothing on one device.

// CHECK-LABEL: module @rule_of_a_function
//       CHECK:   func.func public @main({{.*}}) -> (tensor<2x32xf32> {exec.sharding
//   CHECK-NOT:   tilewright.sharding_rule
// ONE-LABEL: module @rule_of_a_function
//       ONE:   %[[BODY:.*]] = stablehlo.custom_call @body
//  ONE-NEXT:   return %[[BODY]]
module @rule_of_a_function attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x32xf32> {
    %0 = stablehlo.custom_call @body(%a) : (tensor<8x16xf32>) -> tensor<8x32xf32>
    %1 = stablehlo.custom_call @tilewright.sharding_rule(%a, %0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, k])->([i, k]) {i=8, j=16, k=32}, custom>} : (tensor<8x16xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
    return %1 : tensor<8x32xf32>
  }
}

// -----

/// Along a blocked factor nothing is passed on.

// CHECK-LABEL: module @negative_blocked
//       CHECK:   func.func public @main({{.*}}) -> tensor<8xf32> {
module @negative_blocked attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
    %0 = stablehlo.custom_call @body(%a) : (tensor<16xf32>) -> tensor<8xf32>
    %1 = stablehlo.custom_call @tilewright.sharding_rule(%a, %0) {sdy.sharding_rule = #sdy.op_sharding_rule<([ij], [i])->([i]) {i=8, j=2} blocked_propagation={i}, custom>} : (tensor<16xf32>, tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
