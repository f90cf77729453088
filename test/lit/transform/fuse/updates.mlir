// RUN: tilewright-opt %s --mlir-disable-threading --fuse --fuse-print --split-input-file -o /dev/null | FileCheck %s

/// On a GPU, what is written into a part of other memory is computed in the kernel that writes it.

module attributes {exec.target = #exec.target<gpu = <>>} {
// CHECK-LABEL: @joins
// CHECK-NEXT: 1 x add_exponential_dynamic_update_slice: 3 ops a result written into a part of other memory
func.func @joins(%s: tensor<8x64xf32>, %a: tensor<1x64xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<8x64xf32> {
  %b = stablehlo.add %a, %a : tensor<1x64xf32>
  %e = stablehlo.exponential %b : tensor<1x64xf32>
  %r = stablehlo.dynamic_update_slice %s, %e, %i, %j : (tensor<8x64xf32>, tensor<1x64xf32>, tensor<i32>, tensor<i32>) -> tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}

/// What reads the memory that is overwritten is done before, and what others read too is in memory anyway.
// CHECK-LABEL: @negative
// CHECK-DAG: 1 x add_exponential: 3 ops
// CHECK-DAG: 2 x dynamic_update_slice: 1 op an op by itself
func.func @negative(%s: tensor<8x64xf32>, %a: tensor<1x64xf32>, %i: tensor<i32>, %j: tensor<i32>) -> (tensor<8x64xf32>, tensor<1x64xf32>) {
  %w = stablehlo.dynamic_slice %s, %i, %j, sizes = [1, 64] : (tensor<8x64xf32>, tensor<i32>, tensor<i32>) -> tensor<1x64xf32>
  %b = stablehlo.add %w, %a : tensor<1x64xf32>
  %r = stablehlo.dynamic_update_slice %s, %b, %i, %j : (tensor<8x64xf32>, tensor<1x64xf32>, tensor<i32>, tensor<i32>) -> tensor<8x64xf32>
  %e = stablehlo.exponential %a : tensor<1x64xf32>
  %t = stablehlo.dynamic_update_slice %r, %e, %j, %i : (tensor<8x64xf32>, tensor<1x64xf32>, tensor<i32>, tensor<i32>) -> tensor<8x64xf32>
  return %t, %e : tensor<8x64xf32>, tensor<1x64xf32>
}

/// The memory is an input even if it is a constant, or what is written into it.
// CHECK-LABEL: @own_memory
// CHECK-DAG: 2 x dynamic_update_slice: 1 op an op by itself
func.func @own_memory(%x: tensor<8xf32>, %a: tensor<2xf32>, %i: tensor<i32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<8xf32>
  %r = stablehlo.dynamic_update_slice %z, %a, %i : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
  %t = stablehlo.dynamic_update_slice %x, %x, %i : (tensor<8xf32>, tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
  return %r, %t : tensor<8xf32>, tensor<8xf32>
}

/// A product and a scatter of rows: the product is a kernel of its own.
// CHECK-LABEL: @rows
// CHECK-DAG: 1 x dot_general
// CHECK-DAG: 1 x convert_scatter: 2 ops a result written into a part of other memory
func.func @rows(%t: tensor<512x64xf32>, %x: tensor<32x16xbf16>, %w: tensor<16x64xbf16>, %i: tensor<32xi32>) -> tensor<512x64xf32> {
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x16xbf16>, tensor<16x64xbf16>) -> tensor<32x64xbf16>
  %b = stablehlo.optimization_barrier %d : tensor<32x64xbf16>
  %u = stablehlo.convert %b : (tensor<32x64xbf16>) -> tensor<32x64xf32>
  %r = "stablehlo.scatter"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    stablehlo.return %c : tensor<f32>
  }) : (tensor<512x64xf32>, tensor<32xi32>, tensor<32x64xf32>) -> tensor<512x64xf32>
  return %r : tensor<512x64xf32>
}
}
