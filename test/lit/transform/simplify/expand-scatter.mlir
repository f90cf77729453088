// RUN: tilewright-opt %s --simplify-expand --split-input-file | FileCheck %s

/// Rows that are overwritten at unique indices are what a kernel can compute.

module attributes {exec.target = #exec.target<gpu = <>>} {
// CHECK-LABEL: func @rows
//  CHECK-NEXT:   "stablehlo.scatter"(%arg0, %arg1, %arg2)
func.func @rows(%t: tensor<512x64xf32>, %i: tensor<32xi32>, %u: tensor<32x64xf32>) -> tensor<512x64xf32> {
  %r = "stablehlo.scatter"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    stablehlo.return %c : tensor<f32>
  }) : (tensor<512x64xf32>, tensor<32xi32>, tensor<32x64xf32>) -> tensor<512x64xf32>
  return %r : tensor<512x64xf32>
}

/// Few updates: each row combines those that belong to it, in one reduction.
// CHECK-LABEL: func @looks_up
//       CHECK:   %[[OWN:.*]] = stablehlo.compare EQ, {{.*}} tensor<512x32x64xi1>
//       CHECK:   stablehlo.reduce(%[[OWN]] init: {{.*}} across dimensions = [1]
//   CHECK-NOT:   stablehlo.scatter
//   CHECK-NOT:   stablehlo.sort
//       CHECK:   return
func.func @looks_up(%t: tensor<512x64xf32>, %i: tensor<32x1xi32>, %u: tensor<32x64xf32>) -> tensor<512x64xf32> {
  %r = "stablehlo.scatter"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %s = stablehlo.add %a, %c : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<512x64xf32>, tensor<32x1xi32>, tensor<32x64xf32>) -> tensor<512x64xf32>
  return %r : tensor<512x64xf32>
}

/// Many updates: they are sorted by row, and stay a scatter, of sorted rows.
// CHECK-LABEL: func @sorts
//       CHECK:   %[[SORTED:.*]]:2 = "stablehlo.sort"
//  CHECK-SAME:     is_stable = true
//       CHECK:   %[[ROWS:.*]] = "stablehlo.gather"(%arg2, %[[SORTED]]#1)
//       CHECK:   "stablehlo.scatter"(%arg0, %[[SORTED]]#0, %[[ROWS]])
//  CHECK-SAME:     indices_are_sorted = true
//  CHECK-SAME:     unique_indices = false
//       CHECK:     stablehlo.add
func.func @sorts(%t: tensor<50000x64xf32>, %i: tensor<4096x1xi32>, %u: tensor<4096x64xf32>) -> tensor<50000x64xf32> {
  %r = "stablehlo.scatter"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %s = stablehlo.add %a, %c : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<50000x64xf32>, tensor<4096x1xi32>, tensor<4096x64xf32>) -> tensor<50000x64xf32>
  return %r : tensor<50000x64xf32>
}

/// Integers are combined in any order, so they need not be sorted.
// CHECK-LABEL: func @integers
//   CHECK-NOT:   stablehlo.sort
//       CHECK:   "stablehlo.scatter"(%arg0, %{{.*}}, %arg2)
//  CHECK-SAME:     indices_are_sorted = false
//  CHECK-SAME:     unique_indices = false
//       CHECK:     stablehlo.maximum
func.func @integers(%t: tensor<50000x64xi32>, %i: tensor<4096x1xi32>, %u: tensor<4096x64xi32>) -> tensor<50000x64xi32> {
  %r = "stablehlo.scatter"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %c: tensor<i32>):
    %s = stablehlo.maximum %c, %a : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<50000x64xi32>, tensor<4096x1xi32>, tensor<4096x64xi32>) -> tensor<50000x64xi32>
  return %r : tensor<50000x64xi32>
}

/// The vmapped update of one element: unique, so it is written directly; a window outside is dropped as a whole.
// CHECK-LABEL: func @batched
//   CHECK-DAG:   stablehlo.compare GE
//   CHECK-DAG:   stablehlo.compare LE
//       CHECK:   "stablehlo.scatter"
//  CHECK-SAME:     unique_indices = true
//       CHECK:   (tensor<8x64xf32>, tensor<4xi64>, tensor<4x64xf32>) -> tensor<8x64xf32>
func.func @batched(%t: tensor<4x2x64xf32>, %i: tensor<4x1xi32>, %u: tensor<4x64xf32>) -> tensor<4x2x64xf32> {
  %r = "stablehlo.scatter"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    stablehlo.return %c : tensor<f32>
  }) : (tensor<4x2x64xf32>, tensor<4x1xi32>, tensor<4x64xf32>) -> tensor<4x2x64xf32>
  return %r : tensor<4x2x64xf32>
}
}
