// RUN: tilewright-opt %s --mlir-print-op-generic | FileCheck %s
// RUN: tilewright-opt %s | tilewright-opt --mlir-print-op-generic | FileCheck %s

/// Slices, gather and scatter at computed positions.
// CHECK-LABEL: sym_name = "slices"
func.func @slices(%m: tensor<4x4xf32>, %u: tensor<2x2xf32>, %i: tensor<i64>) {
  // CHECK: "stablehlo.dynamic_slice"(%{{.*}}, %{{.*}}, %{{.*}}) <{slice_sizes = array<i64: 2, 2>}> : (tensor<4x4xf32>, tensor<i64>, tensor<i64>) -> tensor<2x2xf32>
  %0 = "stablehlo.dynamic_slice"(%m, %i, %i) <{slice_sizes = array<i64: 2, 2>}> : (tensor<4x4xf32>, tensor<i64>, tensor<i64>) -> tensor<2x2xf32>
  // CHECK: "stablehlo.dynamic_update_slice"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<i64>, tensor<i64>) -> tensor<4x4xf32>
  %1 = "stablehlo.dynamic_update_slice"(%m, %u, %i, %i) : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<i64>, tensor<i64>) -> tensor<4x4xf32>
  return
}

// CHECK-LABEL: sym_name = "gather_scatter"
func.func @gather_scatter(%m: tensor<8x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>, %j: tensor<2xi32>) {
  // CHECK: "stablehlo.gather"(%{{.*}}, %{{.*}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  %0 = "stablehlo.gather"(%m, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  // CHECK: "stablehlo.scatter"(%{{.*}}, %{{.*}}, %{{.*}}) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  %1 = "stablehlo.scatter"(%m, %i, %u) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    // CHECK: "stablehlo.add"(%{{.*}}, %{{.*}}) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %sum = "stablehlo.add"(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    // CHECK: "stablehlo.return"(%{{.*}}) : (tensor<f32>) -> ()
    "stablehlo.return"(%sum) : (tensor<f32>) -> ()
  // CHECK: }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  // CHECK: "stablehlo.torch_index_select"(%{{.*}}, %{{.*}}) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<8x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  %2 = "stablehlo.torch_index_select"(%m, %j) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<8x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  return
}

/// Batching dimensions, and the default index_vector_dim, which is not printed.
// CHECK-LABEL: sym_name = "batching"
func.func @batching(%m: tensor<2x8xf32>, %i: tensor<1x2x3xi32>) {
  // CHECK: "stablehlo.gather"(%{{.*}}, %{{.*}}) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1]>, slice_sizes = array<i64: 1, 1>}> : (tensor<2x8xf32>, tensor<1x2x3xi32>) -> tensor<2x3xf32>
  %0 = "stablehlo.gather"(%m, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 0>, slice_sizes = array<i64: 1, 1>}> : (tensor<2x8xf32>, tensor<1x2x3xi32>) -> tensor<2x3xf32>
  return
}
