// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s

/// A fusion shows its name, its reason and its body.

// CHECK-LABEL: func @fusion
//       CHECK:   exec.fusion "add_exp"(%{{.*}}, %{{.*}}) {reason = "over 8"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
//       CHECK:   ^bb0(%[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<8xf32>):
//       CHECK:     %[[S:.*]] = stablehlo.add %[[X]], %[[Y]]
//       CHECK:     exec.yield %{{.*}} : tensor<8xf32>
func.func @fusion(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %r = exec.fusion "add_exp"(%a, %b) {reason = "over 8"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>):
    %s = stablehlo.add %x, %y : tensor<8xf32>
    %e = stablehlo.exponential %s : tensor<8xf32>
    exec.yield %e : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

/// The ops of a scheduled plan, and where values are.

// CHECK-LABEL: func @plan
//  CHECK-SAME:   exec.allocations = [#exec.allocation<storage = "temporary", index = 0, bytes = 64, space = 0>]
//       CHECK:   exec.sort(%{{.*}}) {comparator = #exec.comparator<lt>, dimension = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
//       CHECK:   exec.custom_call "solve"(%{{.*}}) {api_version = 4 : i32, config = {}} : (tensor<8xf32>) -> tensor<8xf32>
//       CHECK:   exec.copy %{{.*}} {exec.slices = [#exec.slice<allocation = 0, offset = 0, bytes = 32>]} : tensor<8xf32>
//       CHECK:   exec.collective_start <kind = all_reduce, reduction = add>(%{{.*}}) {groups = dense<0> : tensor<1x1xi64>, id = 7 : i64}
//       CHECK:   exec.collective_done(%{{.*}}) {id = 7 : i64} : (tensor<8xf32>) -> tensor<8xf32>
func.func @plan(%a: tensor<8xf32>) -> tensor<8xf32> attributes {
    exec.allocations = [#exec.allocation<storage = "temporary", index = 0, bytes = 64, space = 0>]} {
  %0 = exec.sort(%a) {dimension = 0 : i64, comparator = #exec.comparator<lt>, comparator_operand = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = exec.custom_call "solve"(%0) {api_version = 4 : i32, config = {}} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = exec.copy %1 {exec.slices = [#exec.slice<allocation = 0, offset = 0, bytes = 32>]} : tensor<8xf32>
  %3 = exec.collective_start <kind = all_reduce, reduction = add>(%2) {id = 7 : i64, groups = dense<0> : tensor<1x1xi64>} : (tensor<8xf32>) -> tensor<8xf32>
  %4 = exec.collective_done(%3) {id = 7 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  return %4 : tensor<8xf32>
}

/// The example of the op's documentation.

// CHECK-LABEL: func @softmax_dot
//       CHECK:   exec.softmax_dot(%{{.*}}, %{{.*}}, %{{.*}}) sizes [2, 64, 64, 32, 32] dims [array<i64: 0, 1, 3>, array<i64: 0, 2, 3>, array<i64: 0, 2, 4>, array<i64: 0, 1, 4>] weights f32 : (tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>) -> tensor<2x64x32xf32> {
//       CHECK:   ^bb0(%[[PRODUCT:.*]]: f32, %{{.*}}: i32, %{{.*}}: i32):
//       CHECK:     exec.yield_score %[[PRODUCT]] : f32
func.func @softmax_dot(%q: tensor<2x64x32xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>) -> tensor<2x64x32xf32> {
  %r = exec.softmax_dot(%q, %k, %v) sizes [2, 64, 64, 32, 32]
         dims [array<i64: 0, 1, 3>, array<i64: 0, 2, 3>, array<i64: 0, 2, 4>, array<i64: 0, 1, 4>] weights f32
         : (tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>) -> tensor<2x64x32xf32> {
  ^bb0(%product: f32, %query: i32, %key: i32):
    exec.yield_score %product : f32
  }
  return %r : tensor<2x64x32xf32>
}
