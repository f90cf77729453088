// RUN: tilewright-opt %s --pass-pipeline='builtin.module(nvptx-attach-target{chip=sm_100a},func.func(fuse-order-scales,fuse-expand-scaled-products))' --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(amdgcn-attach-target{chip=gfx950},func.func(fuse-order-scales))' --split-input-file | FileCheck %s --check-prefix=AMD
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(nvptx-attach-target{chip=sm_90a},func.func(fuse-order-scales))' --split-input-file | FileCheck %s --check-prefix=OTHER
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(amdgcn-attach-target{chip=gfx942},func.func(fuse-order-scales))' --split-input-file | FileCheck %s --check-prefix=OTHER

/// MXFP8: scales as groups of 128 rows and 4 blocks, each of 512 bytes, padded to lines of 128 elements.

// CHECK-LABEL: func @mxfp8
//  CHECK-SAME:   (%[[X:.*]]: tensor<2x129x160xf8E4M3FN>, %[[Y:.*]]: tensor<2x48x160xf8E5M2>, %[[SX:.*]]: tensor<2x129x5xf8E8M0FNU>,
//       CHECK:   %[[BITS:.*]] = stablehlo.bitcast_convert %[[SX]] : (tensor<2x129x5xf8E8M0FNU>) -> tensor<2x129x5xui8>
//       CHECK:   %[[PADDED:.*]] = stablehlo.pad %[[BITS]], %{{.*}}, low = [0, 0, 0], high = [0, 127, 3], interior = [0, 0, 0]
//       CHECK:   %[[SPLIT:.*]] = stablehlo.reshape %[[PADDED]] : (tensor<2x256x8xui8>) -> tensor<2x2x4x32x2x4xui8>
//       CHECK:   %[[MOVED:.*]] = stablehlo.transpose %[[SPLIT]], dims = [0, 1, 4, 3, 2, 5]
//       CHECK:   %[[A:.*]] = stablehlo.reshape %[[MOVED]] : {{.*}} -> tensor<2x2x8x128xui8>
//       CHECK:   %[[B:.*]] = stablehlo.reshape %{{.*}} : {{.*}} -> tensor<2x1x8x128xui8>
//       CHECK:   exec.scaled_matmul %[[X]], %[[Y]] scales %[[A]], %[[B]] as f8E4M3FN, f8E5M2 by f8E8M0FNU block 32
//   CHECK-NOT:   dot_general

// OTHER-LABEL: func @mxfp8
//       OTHER:   exec.scaled_dot

/// MFMA of gfx950 reads the same order.

// AMD-LABEL: func @mxfp8
//       AMD:   exec.scaled_matmul {{.*}} as f8E4M3FN, f8E5M2 by f8E8M0FNU block 32
func.func @mxfp8(%x: tensor<2x129x160xf8E4M3FN>, %y: tensor<2x48x160xf8E5M2>, %sx: tensor<2x129x5xf8E8M0FNU>, %sy: tensor<2x48x5xf8E8M0FNU>) -> tensor<2x129x48xf32> {
  %0 = exec.scaled_dot %x, %y scaled(%sx : tensor<2x129x5xf8E8M0FNU>) scaled_rhs(%sy : tensor<2x48x5xf8E8M0FNU>) block 32 as bf16
    {lhs_batching_dimensions = array<i64: 0>, rhs_batching_dimensions = array<i64: 0>, lhs_contracting_dimension = 2 : i64, rhs_contracting_dimension = 2 : i64}
    : tensor<2x129x160xf8E4M3FN>, tensor<2x48x160xf8E5M2> -> tensor<2x129x48xf32>
  return %0 : tensor<2x129x48xf32>
}

// -----

/// NVFP4: the unit reads e4m3 without its sign, so a negative scale becomes NaN. The right operand is [k, n]: it is transposed, and
/// its rows are padded to 16 bytes. One scale for all rows is repeated.

// CHECK-LABEL: func @nvfp4
//  CHECK-SAME:   (%[[X:.*]]: tensor<4x48xf4E2M1FN>, %[[Y:.*]]: tensor<48x6xf4E2M1FN>,
//       CHECK:   stablehlo.pad %[[X]], %{{.*}}, low = [0, 0], high = [0, 16], interior = [0, 0]
//       CHECK:   stablehlo.transpose %[[Y]], dims = [1, 0]
//       CHECK:   %[[BITS:.*]] = stablehlo.bitcast_convert
//       CHECK:   %[[MINUS:.*]] = stablehlo.constant dense<128> : tensor<1x4x3xui8>
//       CHECK:   %[[BELOW:.*]] = stablehlo.compare GT, %[[BITS]], %[[MINUS]]
//       CHECK:   stablehlo.select %[[BELOW]], %{{.*}}, %{{.*}} : tensor<1x4x3xi1>, tensor<1x4x3xui8>
//       CHECK:   exec.scaled_matmul {{.*}} as f4E2M1FN, f4E2M1FN by f8E4M3FN block 16 : tensor<4x64xf4E2M1FN>, tensor<6x64xf4E2M1FN>, tensor<1x1x16x128xui8>, tensor<1x1x16x128xui8> -> tensor<4x6xbf16>

/// MFMA has no scales of e4m3.

// AMD-LABEL: func @nvfp4
//       AMD:   exec.scaled_dot
func.func @nvfp4(%x: tensor<4x48xf4E2M1FN>, %y: tensor<48x6xf4E2M1FN>, %sx: tensor<1x3xf8E4M3FN>, %sy: tensor<3x6xf8E4M3FN>) -> tensor<4x6xbf16> {
  %0 = exec.scaled_dot %x, %y scaled(%sx : tensor<1x3xf8E4M3FN>) scaled_rhs(%sy : tensor<3x6xf8E4M3FN>) block 16 as bf16
    {lhs_batching_dimensions = array<i64>, rhs_batching_dimensions = array<i64>, lhs_contracting_dimension = 1 : i64, rhs_contracting_dimension = 0 : i64}
    : tensor<4x48xf4E2M1FN>, tensor<48x6xf4E2M1FN> -> tensor<4x6xbf16>
  return %0 : tensor<4x6xbf16>
}

// -----

/// Elements of 4 bits become e4m3 beside those of 8 bits.

// CHECK-LABEL: func @mixed
//       CHECK:   %[[WIDE:.*]] = stablehlo.convert %{{.*}} : (tensor<6x64xf4E2M1FN>) -> tensor<6x64xf8E4M3FN>
//       CHECK:   exec.scaled_matmul %{{.*}}, %[[WIDE]] scales {{.*}} as f8E4M3FN, f8E4M3FN by f8E8M0FNU block 32

// AMD-LABEL: func @mixed
//       AMD:   exec.scaled_matmul {{.*}} as f8E4M3FN, f8E4M3FN by f8E8M0FNU block 32
func.func @mixed(%x: tensor<4x64xf8E4M3FN>, %y: tensor<6x64xf4E2M1FN>, %sx: tensor<4x2xf8E8M0FNU>, %sy: tensor<6x2xf8E8M0FNU>) -> tensor<4x6xf32> {
  %0 = exec.scaled_dot %x, %y scaled(%sx : tensor<4x2xf8E8M0FNU>) scaled_rhs(%sy : tensor<6x2xf8E8M0FNU>) block 32 as bf16
    {lhs_batching_dimensions = array<i64>, rhs_batching_dimensions = array<i64>, lhs_contracting_dimension = 1 : i64, rhs_contracting_dimension = 1 : i64}
    : tensor<4x64xf8E4M3FN>, tensor<6x64xf4E2M1FN> -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

/// The unit has no blocks of 64: the expression remains.

// CHECK-LABEL: func @negative_block
//   CHECK-NOT:   exec.scaled
//       CHECK:   stablehlo.dot_general
func.func @negative_block(%x: tensor<4x64xf8E4M3FN>, %y: tensor<6x64xf8E4M3FN>, %sx: tensor<4x1xf8E8M0FNU>, %sy: tensor<6x1xf8E8M0FNU>) -> tensor<4x6xf32> {
  %0 = exec.scaled_dot %x, %y scaled(%sx : tensor<4x1xf8E8M0FNU>) scaled_rhs(%sy : tensor<6x1xf8E8M0FNU>) block 64 as bf16
    {lhs_batching_dimensions = array<i64>, rhs_batching_dimensions = array<i64>, lhs_contracting_dimension = 1 : i64, rhs_contracting_dimension = 1 : i64}
    : tensor<4x64xf8E4M3FN>, tensor<6x64xf8E4M3FN> -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

/// One side without scales: the expression remains.

// CHECK-LABEL: func @negative_one_side
//   CHECK-NOT:   exec.scaled
//       CHECK:   stablehlo.dot_general
func.func @negative_one_side(%x: tensor<4x64xf8E4M3FN>, %y: tensor<6x64xf8E4M3FN>, %sx: tensor<4x2xf8E8M0FNU>) -> tensor<4x6xf32> {
  %0 = exec.scaled_dot %x, %y scaled(%sx : tensor<4x2xf8E8M0FNU>) block 32 as bf16
    {lhs_batching_dimensions = array<i64>, rhs_batching_dimensions = array<i64>, lhs_contracting_dimension = 1 : i64, rhs_contracting_dimension = 1 : i64}
    : tensor<4x64xf8E4M3FN>, tensor<6x64xf8E4M3FN> -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
