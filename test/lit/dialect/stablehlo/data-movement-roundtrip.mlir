// RUN: tilewright-opt %s --mlir-print-op-generic | FileCheck %s
// RUN: tilewright-opt %s | tilewright-opt --mlir-print-op-generic | FileCheck %s

/// Elements moved to positions known at compile time.
// CHECK-LABEL: sym_name = "movement"
func.func @movement(%v: tensor<3xf32>, %m: tensor<3x8xf32>, %s: tensor<f32>, %d: tensor<?x8xf32, #stablehlo.bounds<4, ?>>) {
  // CHECK: "stablehlo.broadcast"(%{{.*}}) <{broadcast_sizes = array<i64: 2>}> : (tensor<3xf32>) -> tensor<2x3xf32>
  %0 = "stablehlo.broadcast"(%v) <{broadcast_sizes = array<i64: 2>}> : (tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: "stablehlo.broadcast_in_dim"(%{{.*}}) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>) -> tensor<2x3xf32>
  %1 = "stablehlo.broadcast_in_dim"(%v) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: "stablehlo.broadcast_in_dim"(%{{.*}}) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
  %2 = "stablehlo.broadcast_in_dim"(%s) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
  // CHECK: "stablehlo.concatenate"(%{{.*}}, %{{.*}}) <{dimension = 0 : i64}> : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<6x8xf32>
  %3 = "stablehlo.concatenate"(%m, %m) <{dimension = 0 : i64}> : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<6x8xf32>
  // CHECK: "stablehlo.pad"(%{{.*}}, %{{.*}}) <{edge_padding_high = array<i64: 2>, edge_padding_low = array<i64: -1>, interior_padding = array<i64: 1>}> : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  %4 = "stablehlo.pad"(%v, %s) <{edge_padding_high = array<i64: 2>, edge_padding_low = array<i64: -1>, interior_padding = array<i64: 1>}> : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  // CHECK: "stablehlo.reshape"(%{{.*}}) : (tensor<3x8xf32>) -> tensor<4x6xf32>
  %5 = "stablehlo.reshape"(%m) : (tensor<3x8xf32>) -> tensor<4x6xf32>
  // CHECK: "stablehlo.reverse"(%{{.*}}) <{dimensions = array<i64: 0, 1>}> : (tensor<3x8xf32>) -> tensor<3x8xf32>
  %6 = "stablehlo.reverse"(%m) <{dimensions = array<i64: 0, 1>}> : (tensor<3x8xf32>) -> tensor<3x8xf32>
  // CHECK: "stablehlo.slice"(%{{.*}}) <{limit_indices = array<i64: 3, 8>, start_indices = array<i64: 1, 4>, strides = array<i64: 1, 2>}> : (tensor<3x8xf32>) -> tensor<2x2xf32>
  %7 = "stablehlo.slice"(%m) <{limit_indices = array<i64: 3, 8>, start_indices = array<i64: 1, 4>, strides = array<i64: 1, 2>}> : (tensor<3x8xf32>) -> tensor<2x2xf32>
  // CHECK: "stablehlo.transpose"(%{{.*}}) <{permutation = array<i64: 1, 0>}> : (tensor<3x8xf32>) -> tensor<8x3xf32>
  %8 = "stablehlo.transpose"(%m) <{permutation = array<i64: 1, 0>}> : (tensor<3x8xf32>) -> tensor<8x3xf32>
  // CHECK: "stablehlo.transpose"(%{{.*}}) <{permutation = array<i64: 1, 0>}> : (tensor<?x8xf32, #stablehlo.bounds<4, ?>>) -> tensor<8x?xf32, #stablehlo.bounds<?, 4>>
  %9 = "stablehlo.transpose"(%d) <{permutation = array<i64: 1, 0>}> : (tensor<?x8xf32, #stablehlo.bounds<4, ?>>) -> tensor<8x?xf32, #stablehlo.type_extensions<bounds = [?, 4]>>
  return
}
