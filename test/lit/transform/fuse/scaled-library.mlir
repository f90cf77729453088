// RUN: tilewright-opt %s --pass-pipeline='builtin.module(cpu-attach-target{chip=x86-64-v4},func.func(fuse-scaled-products,fuse-expand-scaled-products,fuse-group),cpu-fuse-epilogues,func.func(fuse-pack-elements))' --split-input-file | FileCheck %s

/// The library of a CPU decodes both operands while it packs them. It reads packed elements, and a global scale is its
/// epilogue.

// CHECK-LABEL: func.func public @nvfp4
//  CHECK-SAME:   (%[[X:.*]]: tensor<64xui8> {exec.array_type = tensor<4x32xf4E2M1FN>}, %[[Y:.*]]: tensor<96xui8> {{.*}}, %[[SX:.*]]: tensor<4x2xf8E4M3FN>, %[[SY:.*]]: tensor<6x2xf8E4M3FN>, %[[G:.*]]: tensor<f32>)
//   CHECK-DAG:   %[[BX:.*]] = stablehlo.reshape %[[X]] : (tensor<64xui8>) -> tensor<4x16xui8>
//   CHECK-DAG:   %[[BY:.*]] = stablehlo.reshape %[[Y]] : (tensor<96xui8>) -> tensor<6x16xui8>
//   CHECK-NOT:   exec.fusion
//       CHECK:   %[[D:.*]] = exec.dot_general(%[[BX]], %[[BY]], %[[SX]], %[[SY]], %[[G]])
//  CHECK-SAME:     block = 16 : i64
//  CHECK-SAME:     bodies = [@epilogue_0]
//  CHECK-SAME:     lhs_contracting_dimensions = array<i64: 1>
//  CHECK-SAME:     product_type = f32
//  CHECK-SAME:     rhs_contracting_dimensions = array<i64: 1>
//       CHECK:   return %[[D]]
func.func public @nvfp4(%x: tensor<4x32xf4E2M1FN>, %y: tensor<6x32xf4E2M1FN>, %sx: tensor<4x2xf8E4M3FN>, %sy: tensor<6x2xf8E4M3FN>, %g: tensor<f32>) -> tensor<4x6xf32> {
  %0 = stablehlo.convert %x : (tensor<4x32xf4E2M1FN>) -> tensor<4x32xbf16>
  %1 = stablehlo.convert %sx : (tensor<4x2xf8E4M3FN>) -> tensor<4x2xbf16>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<4x2xbf16>) -> tensor<4x2x16xbf16>
  %3 = stablehlo.reshape %2 : (tensor<4x2x16xbf16>) -> tensor<4x32xbf16>
  %4 = stablehlo.multiply %0, %3 : tensor<4x32xbf16>
  %5 = stablehlo.convert %y : (tensor<6x32xf4E2M1FN>) -> tensor<6x32xbf16>
  %6 = stablehlo.convert %sy : (tensor<6x2xf8E4M3FN>) -> tensor<6x2xbf16>
  %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<6x2xbf16>) -> tensor<6x2x16xbf16>
  %8 = stablehlo.reshape %7 : (tensor<6x2x16xbf16>) -> tensor<6x32xbf16>
  %9 = stablehlo.multiply %5, %8 : tensor<6x32xbf16>
  %d = stablehlo.dot_general %4, %9, contracting_dims = [1] x [1] : (tensor<4x32xbf16>, tensor<6x32xbf16>) -> tensor<4x6xf32>
  %s = stablehlo.broadcast_in_dim %g, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
  %r = stablehlo.multiply %d, %s : tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// -----

/// Scales of e8m0 and a batch. Elements of 8 bits are bytes already.

// CHECK-LABEL: func.func public @mxfp8
//       CHECK:   exec.dot_general(%arg0, %arg1, %arg2, %arg3)
//  CHECK-SAME:     block = 32 : i64
//  CHECK-SAME:     lhs_batching_dimensions = array<i64: 0>
func.func public @mxfp8(%x: tensor<2x4x64xf8E4M3FN>, %y: tensor<2x6x64xf8E5M2>, %sx: tensor<2x4x2xf8E8M0FNU>, %sy: tensor<2x6x2xf8E8M0FNU>) -> tensor<2x4x6xbf16> {
  %0 = stablehlo.convert %x : (tensor<2x4x64xf8E4M3FN>) -> tensor<2x4x64xbf16>
  %1 = stablehlo.convert %sx : (tensor<2x4x2xf8E8M0FNU>) -> tensor<2x4x2xbf16>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<2x4x2xbf16>) -> tensor<2x4x2x32xbf16>
  %3 = stablehlo.reshape %2 : (tensor<2x4x2x32xbf16>) -> tensor<2x4x64xbf16>
  %4 = stablehlo.multiply %0, %3 : tensor<2x4x64xbf16>
  %5 = stablehlo.convert %y : (tensor<2x6x64xf8E5M2>) -> tensor<2x6x64xbf16>
  %6 = stablehlo.convert %sy : (tensor<2x6x2xf8E8M0FNU>) -> tensor<2x6x2xbf16>
  %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2] : (tensor<2x6x2xbf16>) -> tensor<2x6x2x32xbf16>
  %8 = stablehlo.reshape %7 : (tensor<2x6x2x32xbf16>) -> tensor<2x6x64xbf16>
  %9 = stablehlo.multiply %5, %8 : tensor<2x6x64xbf16>
  %d = stablehlo.dot_general %4, %9, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x64xbf16>, tensor<2x6x64xbf16>) -> tensor<2x4x6xbf16>
  return %d : tensor<2x4x6xbf16>
}

// -----

/// The rows of rhs are along another dimension: the expression stays.

// CHECK-LABEL: func.func public @negative_rows
//   CHECK-NOT:   exec.dot_general
//       CHECK:   stablehlo.dot_general
func.func public @negative_rows(%x: tensor<4x32xf8E4M3FN>, %y: tensor<32x6xf8E4M3FN>, %sx: tensor<4x1xf8E8M0FNU>, %sy: tensor<1x6xf8E8M0FNU>) -> tensor<4x6xf32> {
  %0 = stablehlo.convert %x : (tensor<4x32xf8E4M3FN>) -> tensor<4x32xbf16>
  %1 = stablehlo.convert %sx : (tensor<4x1xf8E8M0FNU>) -> tensor<4x1xbf16>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<4x1xbf16>) -> tensor<4x32xbf16>
  %3 = stablehlo.multiply %0, %2 : tensor<4x32xbf16>
  %4 = stablehlo.convert %y : (tensor<32x6xf8E4M3FN>) -> tensor<32x6xbf16>
  %5 = stablehlo.convert %sy : (tensor<1x6xf8E8M0FNU>) -> tensor<1x6xbf16>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<1x6xbf16>) -> tensor<32x6xbf16>
  %7 = stablehlo.multiply %4, %6 : tensor<32x6xbf16>
  %d = stablehlo.dot_general %3, %7, contracting_dims = [1] x [0] : (tensor<4x32xbf16>, tensor<32x6xbf16>) -> tensor<4x6xf32>
  return %d : tensor<4x6xf32>
}
