// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(fuse-scaled-products))' --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(fuse-scaled-products{all=true}))' --split-input-file | FileCheck %s --check-prefix=ALL
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(fuse-scaled-products{all=true},fuse-expand-scaled-products))' --split-input-file | FileCheck %s --check-prefix=BACK

/// NVFP4 that the program dequantises as f32: bf16 is exact.

// CHECK-LABEL: func @nvfp4
//  CHECK-SAME:   (%[[X:.*]]: tensor<4x32xf4E2M1FN>, %[[Y:.*]]: tensor<6x32xf4E2M1FN>, %[[SX:.*]]: tensor<4x2xf8E4M3FN>, %[[SY:.*]]: tensor<6x2xf8E4M3FN>)
//  CHECK-NEXT:   %[[D:.*]] = exec.scaled_dot %[[X]], %[[Y]] scaled(%[[SX]] : tensor<4x2xf8E4M3FN>) scaled_rhs(%[[SY]] : tensor<6x2xf8E4M3FN>) block 16 as bf16
//  CHECK-SAME:     lhs_contracting_dimension = 1 : i64
//  CHECK-SAME:     : tensor<4x32xf4E2M1FN>, tensor<6x32xf4E2M1FN> -> tensor<4x6xf32>
//  CHECK-NEXT:   return %[[D]]

// BACK-LABEL: func @nvfp4
//   BACK-DAG:   %[[Q:.*]] = stablehlo.convert %arg0 : {{.*}} -> tensor<4x32xbf16>
//   BACK-DAG:   %[[S:.*]] = stablehlo.convert %arg2 : {{.*}} -> tensor<4x2xbf16>
//       BACK:   %[[W:.*]] = stablehlo.broadcast_in_dim %[[S]], dims = [0, 1] : (tensor<4x2xbf16>) -> tensor<4x2x16xbf16>
//       BACK:   %[[R:.*]] = stablehlo.reshape %[[W]] : (tensor<4x2x16xbf16>) -> tensor<4x32xbf16>
//       BACK:   %[[A:.*]] = stablehlo.multiply %[[Q]], %[[R]]
//       BACK:   stablehlo.dot_general %[[A]], %{{.*}}, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x32xbf16>, tensor<6x32xbf16>) -> tensor<4x6xf32>
func.func @nvfp4(%x: tensor<4x32xf4E2M1FN>, %y: tensor<6x32xf4E2M1FN>, %sx: tensor<4x2xf8E4M3FN>, %sy: tensor<6x2xf8E4M3FN>) -> tensor<4x6xf32> {
  %0 = stablehlo.convert %x : (tensor<4x32xf4E2M1FN>) -> tensor<4x32xf32>
  %1 = stablehlo.convert %sx : (tensor<4x2xf8E4M3FN>) -> tensor<4x2xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<4x2xf32>) -> tensor<4x2x16xf32>
  %3 = stablehlo.reshape %2 : (tensor<4x2x16xf32>) -> tensor<4x32xf32>
  %4 = stablehlo.multiply %0, %3 : tensor<4x32xf32>
  %5 = stablehlo.convert %y : (tensor<6x32xf4E2M1FN>) -> tensor<6x32xf32>
  %6 = stablehlo.broadcast_in_dim %sy, dims = [0, 1] : (tensor<6x2xf8E4M3FN>) -> tensor<6x2x16xf8E4M3FN>
  %7 = stablehlo.reshape %6 : (tensor<6x2x16xf8E4M3FN>) -> tensor<6x32xf8E4M3FN>
  %8 = stablehlo.convert %7 : (tensor<6x32xf8E4M3FN>) -> tensor<6x32xf32>
  %9 = stablehlo.multiply %8, %5 : tensor<6x32xf32>
  %d = stablehlo.dot_general %4, %9, contracting_dims = [1] x [1] : (tensor<4x32xf32>, tensor<6x32xf32>) -> tensor<4x6xf32>
  return %d : tensor<4x6xf32>
}

// -----

/// Scales of f8E8M0FNU reach beyond bf16's normal numbers, so f32 stays f32.

// CHECK-LABEL: func @mxfp8
//   CHECK-NOT:   exec.scaled_dot
// ALL-LABEL: func @mxfp8
//       ALL:   exec.scaled_dot %arg0, %arg1 scaled(%arg2 : tensor<4x1xf8E8M0FNU>) block 32 as f32
//      BACK:   precision = [HIGHEST, HIGHEST]
func.func @mxfp8(%x: tensor<4x32xf8E4M3FN>, %y: tensor<32x6xf8E5M2>, %sx: tensor<4x1xf8E8M0FNU>) -> tensor<4x6xf32> {
  %0 = stablehlo.convert %x : (tensor<4x32xf8E4M3FN>) -> tensor<4x32xf32>
  %1 = stablehlo.convert %sx : (tensor<4x1xf8E8M0FNU>) -> tensor<4x1xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x32xf32>
  %3 = stablehlo.multiply %0, %2 : tensor<4x32xf32>
  %4 = stablehlo.convert %y : (tensor<32x6xf8E5M2>) -> tensor<32x6xf32>
  %d = stablehlo.dot_general %3, %4, contracting_dims = [1] x [0] : (tensor<4x32xf32>, tensor<32x6xf32>) -> tensor<4x6xf32>
  return %d : tensor<4x6xf32>
}

// -----

/// One scale for all rows: the scales have no such dimension, and get one of size 1.

// ALL-LABEL: func @of_all_rows
//       ALL:   %[[S:.*]] = stablehlo.reshape %arg2 : (tensor<2xf8E4M3FN>) -> tensor<2x1xf8E4M3FN>
//       ALL:   exec.scaled_dot %arg0, %arg1 scaled_rhs(%[[S]] : tensor<2x1xf8E4M3FN>) block 16 as bf16
func.func @of_all_rows(%x: tensor<4x32xbf16>, %y: tensor<32x6xf8E4M3FN>, %sy: tensor<2xf8E4M3FN>) -> tensor<4x6xf32> {
  %0 = stablehlo.convert %y : (tensor<32x6xf8E4M3FN>) -> tensor<32x6xbf16>
  %1 = stablehlo.convert %sy : (tensor<2xf8E4M3FN>) -> tensor<2xbf16>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<2xbf16>) -> tensor<2x16x6xbf16>
  %3 = stablehlo.reshape %2 : (tensor<2x16x6xbf16>) -> tensor<32x6xbf16>
  %4 = stablehlo.multiply %0, %3 : tensor<32x6xbf16>
  %d = stablehlo.dot_general %x, %4, contracting_dims = [1] x [0] : (tensor<4x32xbf16>, tensor<32x6xbf16>) -> tensor<4x6xf32>
  return %d : tensor<4x6xf32>
}

// -----

/// An operand that another op reads, and scales in another order, are not replaced.

// ALL-LABEL: func @read_twice
//   ALL-NOT:   exec.scaled_dot
func.func @read_twice(%x: tensor<4x32xf8E4M3FN>, %y: tensor<6x32xbf16>, %sx: tensor<4x2xf8E4M3FN>) -> (tensor<4x6xf32>, tensor<4x32xbf16>) {
  %0 = stablehlo.convert %x : (tensor<4x32xf8E4M3FN>) -> tensor<4x32xbf16>
  %1 = stablehlo.convert %sx : (tensor<4x2xf8E4M3FN>) -> tensor<4x2xbf16>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<4x2xbf16>) -> tensor<4x2x16xbf16>
  %3 = stablehlo.reshape %2 : (tensor<4x2x16xbf16>) -> tensor<4x32xbf16>
  %4 = stablehlo.multiply %0, %3 : tensor<4x32xbf16>
  %d = stablehlo.dot_general %4, %y, contracting_dims = [1] x [1] : (tensor<4x32xbf16>, tensor<6x32xbf16>) -> tensor<4x6xf32>
  return %d, %4 : tensor<4x6xf32>, tensor<4x32xbf16>
}

// ALL-LABEL: func @along_rows
//   ALL-NOT:   exec.scaled_dot
func.func @along_rows(%x: tensor<32x32xf8E4M3FN>, %y: tensor<6x32xbf16>, %sx: tensor<2x32xf8E4M3FN>) -> tensor<32x6xf32> {
  %0 = stablehlo.convert %x : (tensor<32x32xf8E4M3FN>) -> tensor<32x32xbf16>
  %1 = stablehlo.convert %sx : (tensor<2x32xf8E4M3FN>) -> tensor<2x32xbf16>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 2] : (tensor<2x32xbf16>) -> tensor<2x16x32xbf16>
  %3 = stablehlo.reshape %2 : (tensor<2x16x32xbf16>) -> tensor<32x32xbf16>
  %4 = stablehlo.multiply %0, %3 : tensor<32x32xbf16>
  %d = stablehlo.dot_general %4, %y, contracting_dims = [1] x [1] : (tensor<32x32xbf16>, tensor<6x32xbf16>) -> tensor<32x6xf32>
  return %d : tensor<32x6xf32>
}

// -----

/// Scales that are rounded on the way are those after the rounding.

// CHECK-LABEL: func @rounded
//   CHECK-NOT:   exec.scaled_dot
// ALL-LABEL: func @rounded
//       ALL:   %[[S:.*]] = stablehlo.convert %arg2 : (tensor<4x2xf8E4M3FN>) -> tensor<4x2xf4E2M1FN>
//       ALL:   exec.scaled_dot %arg0, %arg1 scaled(%[[S]] : tensor<4x2xf4E2M1FN>)
func.func @rounded(%x: tensor<4x32xf8E4M3FN>, %y: tensor<6x32xbf16>, %sx: tensor<4x2xf8E4M3FN>) -> tensor<4x6xbf16> {
  %0 = stablehlo.convert %x : (tensor<4x32xf8E4M3FN>) -> tensor<4x32xbf16>
  %1 = stablehlo.convert %sx : (tensor<4x2xf8E4M3FN>) -> tensor<4x2xf4E2M1FN>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<4x2xf4E2M1FN>) -> tensor<4x2x16xf4E2M1FN>
  %3 = stablehlo.reshape %2 : (tensor<4x2x16xf4E2M1FN>) -> tensor<4x32xf4E2M1FN>
  %4 = stablehlo.convert %3 : (tensor<4x32xf4E2M1FN>) -> tensor<4x32xbf16>
  %5 = stablehlo.multiply %0, %4 : tensor<4x32xbf16>
  %d = stablehlo.dot_general %5, %y, contracting_dims = [1] x [1] : (tensor<4x32xbf16>, tensor<6x32xbf16>) -> tensor<4x6xbf16>
  return %d : tensor<4x6xbf16>
}
