// RUN: tilewright-opt %s --simplify-inline --split-input-file --verify-diagnostics | FileCheck %s

/// JAX's call for CUDA: a scaled element is exact in bf16, and sums are f32.

// CHECK-LABEL: func.func public @mxfp8
//  CHECK-SAME:   (%[[X:.*]]: tensor<2x3x64xf8E4M3FN>, %[[Y:.*]]: tensor<2x5x64xf8E5M2>, %[[SX:.*]]: tensor<2x3x2xf8E8M0FNU>, %[[SY:.*]]: tensor<2x5x2xf8E8M0FNU>)
//   CHECK-DAG:   %[[XB:.*]] = stablehlo.convert %[[X]] : {{.*}} -> tensor<2x3x64xbf16>
//   CHECK-DAG:   %[[SXB:.*]] = stablehlo.convert %[[SX]] : {{.*}} -> tensor<2x3x2xbf16>
//   CHECK-DAG:   %[[SXW:.*]] = stablehlo.broadcast_in_dim %[[SXB]], dims = [0, 1, 2] : (tensor<2x3x2xbf16>) -> tensor<2x3x2x32xbf16>
//   CHECK-DAG:   %[[SXR:.*]] = stablehlo.reshape %[[SXW]] : (tensor<2x3x2x32xbf16>) -> tensor<2x3x64xbf16>
//   CHECK-DAG:   %[[L:.*]] = stablehlo.multiply %[[XB]], %[[SXR]]
//       CHECK:   %[[D:.*]] = stablehlo.dot_general %[[L]], %{{.*}}, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : {{.*}} -> tensor<2x3x5xf32>
//   CHECK-NOT:   convert
//       CHECK:   return %[[D]]
func.func public @mxfp8(%x: tensor<2x3x64xf8E4M3FN>, %y: tensor<2x5x64xf8E5M2>, %sx: tensor<2x3x2xf8E8M0FNU>, %sy: tensor<2x5x2xf8E8M0FNU>) -> tensor<2x3x5xf32> {
  %0 = stablehlo.custom_call @__op$block_scaled_dot(%x, %y, %sx, %sy) {api_version = 2 : i32,
    backend_config = "{\22scaled_dot_backend_config\22: {\22lhs_batch_dimensions\22: [0], \22rhs_batch_dimensions\22: [0], \22dequantize_type\22: \22F32\22}}"}
    : (tensor<2x3x64xf8E4M3FN>, tensor<2x5x64xf8E5M2>, tensor<2x3x2xf8E8M0FNU>, tensor<2x5x2xf8E8M0FNU>) -> tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}

// -----

/// The global scale is applied in f32, and the product is rounded once, to the result's type.

// CHECK-LABEL: func.func public @global_scale
//  CHECK-SAME:   %[[G:[a-z0-9]*]]: tensor<f16>)
//       CHECK:   %[[D:.*]] = stablehlo.dot_general {{.*}} -> tensor<3x5xf32>
//       CHECK:   %[[GF:.*]] = stablehlo.convert %[[G]] : (tensor<f16>) -> tensor<f32>
//       CHECK:   %[[GW:.*]] = stablehlo.broadcast_in_dim %[[GF]]
//       CHECK:   %[[P:.*]] = stablehlo.multiply %[[D]], %[[GW]]
//       CHECK:   stablehlo.convert %[[P]] : (tensor<3x5xf32>) -> tensor<3x5xf16>
func.func public @global_scale(%x: tensor<3x32xf4E2M1FN>, %y: tensor<5x32xf4E2M1FN>, %sx: tensor<3x2xf8E4M3FN>, %sy: tensor<5x2xf8E4M3FN>, %g: tensor<f16>) -> tensor<3x5xf16> {
  %0 = stablehlo.custom_call @__op$block_scaled_dot(%x, %y, %sx, %sy, %g)
    : (tensor<3x32xf4E2M1FN>, tensor<5x32xf4E2M1FN>, tensor<3x2xf8E4M3FN>, tensor<5x2xf8E4M3FN>, tensor<f16>) -> tensor<3x5xf16>
  return %0 : tensor<3x5xf16>
}

// -----

/// With three operands rhs has no scales; f16 has more bits than bf16, so factors are f32.

// CHECK-LABEL: func.func public @one_side
//       CHECK:   stablehlo.convert %{{.*}} : (tensor<5x32xf16>) -> tensor<5x32xf32>
//       CHECK:   stablehlo.dot_general {{.*}} precision = [HIGHEST, HIGHEST] : (tensor<3x32xf32>, tensor<5x32xf32>) -> tensor<3x5xf32>
func.func public @one_side(%x: tensor<3x32xf8E4M3FN>, %y: tensor<5x32xf16>, %sx: tensor<3x1xf8E8M0FNU>) -> tensor<3x5xf32> {
  %0 = stablehlo.custom_call @__op$block_scaled_dot(%x, %y, %sx)
    : (tensor<3x32xf8E4M3FN>, tensor<5x32xf16>, tensor<3x1xf8E8M0FNU>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----

/// Padded scales: rows to a multiple of 128, blocks to a multiple of 4, and a shorter last block.

// CHECK-LABEL: func.func public @padded
//       CHECK:   stablehlo.slice %{{.*}} [0:3, 0:2] : (tensor<128x4xf8E8M0FNU>) -> tensor<3x2xf8E8M0FNU>
//       CHECK:   stablehlo.reshape %{{.*}} : (tensor<3x2x32xbf16>) -> tensor<3x64xbf16>
//       CHECK:   stablehlo.slice %{{.*}} [0:3, 0:40] : (tensor<3x64xbf16>) -> tensor<3x40xbf16>
//       CHECK:   stablehlo.dot_general
func.func public @padded(%x: tensor<3x40xf8E4M3FN>, %y: tensor<5x40xf8E4M3FN>, %sx: tensor<128x4xf8E8M0FNU>, %sy: tensor<128x4xf8E8M0FNU>) -> tensor<3x5xbf16> {
  %0 = stablehlo.custom_call @__op$block_scaled_dot(%x, %y, %sx, %sy)
    {backend_config = "{\22block_scaled_dot_backend_config\22: {\22block_size\22: 32}}"}
    : (tensor<3x40xf8E4M3FN>, tensor<5x40xf8E4M3FN>, tensor<128x4xf8E8M0FNU>, tensor<128x4xf8E8M0FNU>) -> tensor<3x5xbf16>
  return %0 : tensor<3x5xbf16>
}

// -----

func.func public @two_operands(%x: tensor<3x32xf8E4M3FN>, %y: tensor<5x32xf8E4M3FN>) -> tensor<3x5xf32> {
  // expected-error@+1 {{needs 3 to 5 operands (lhs, rhs, scales of lhs, scales of rhs, global scale) and one result, got 2 operands and 1 results}}
  %0 = stablehlo.custom_call @__op$block_scaled_dot(%x, %y) : (tensor<3x32xf8E4M3FN>, tensor<5x32xf8E4M3FN>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----

func.func public @uneven(%x: tensor<3x40xf8E4M3FN>, %y: tensor<5x40xf8E4M3FN>, %s: tensor<3x3xf8E8M0FNU>) -> tensor<3x5xf32> {
  // expected-error@+1 {{needs scales of lhs whose last dimension divides that of the values (or a block_size), got lhs 'tensor<3x40xf8E4M3FN>' and scales 'tensor<3x3xf8E8M0FNU>'}}
  %0 = stablehlo.custom_call @__op$block_scaled_dot(%x, %y, %s) : (tensor<3x40xf8E4M3FN>, tensor<5x40xf8E4M3FN>, tensor<3x3xf8E8M0FNU>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----

func.func public @few_rows(%x: tensor<3x32xf8E4M3FN>, %y: tensor<5x32xf8E4M3FN>, %s: tensor<2x1xf8E8M0FNU>) -> tensor<3x5xf32> {
  // expected-error@+1 {{needs scales of lhs for each row, got lhs 'tensor<3x32xf8E4M3FN>' and scales 'tensor<2x1xf8E8M0FNU>'}}
  %0 = stablehlo.custom_call @__op$block_scaled_dot(%x, %y, %s) : (tensor<3x32xf8E4M3FN>, tensor<5x32xf8E4M3FN>, tensor<2x1xf8E8M0FNU>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----

func.func public @malformed(%x: tensor<3x32xf8E4M3FN>, %y: tensor<5x32xf8E4M3FN>, %s: tensor<3x1xf8E8M0FNU>) -> tensor<3x5xf32> {
  // expected-error@+1 {{has a backend_config that is not of the form}}
  %0 = stablehlo.custom_call @__op$block_scaled_dot(%x, %y, %s) {backend_config = "{\22block_scaled_dot_backend_config\22: {\22block_size\22: 0}}"}
    : (tensor<3x32xf8E4M3FN>, tensor<5x32xf8E4M3FN>, tensor<3x1xf8E8M0FNU>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----

func.func public @wrong_result(%x: tensor<3x32xf8E4M3FN>, %y: tensor<5x32xf8E4M3FN>, %s: tensor<3x1xf8E8M0FNU>) -> tensor<5x3xf32> {
  // expected-error@+1 {{needs a result of 'tensor<3x5xf32>', got 'tensor<5x3xf32>'}}
  %0 = stablehlo.custom_call @__op$block_scaled_dot(%x, %y, %s) : (tensor<3x32xf8E4M3FN>, tensor<5x32xf8E4M3FN>, tensor<3x1xf8E8M0FNU>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

// -----

/// A block that is longer than the sum, by any number.

// CHECK-LABEL: func.func public @long_block
//       CHECK:   stablehlo.broadcast_in_dim {{.*}} -> tensor<3x1x32x
module {
func.func public @long_block(%x: tensor<3x32xf8E4M3FN>, %y: tensor<5x32xf8E4M3FN>, %s: tensor<3x1xf8E8M0FNU>) -> tensor<3x5xf32> {
  %0 = stablehlo.custom_call @__op$block_scaled_dot(%x, %y, %s) {backend_config = "{\22block_scaled_dot_backend_config\22: {\22block_size\22: 9223372036854775807}}"}
    : (tensor<3x32xf8E4M3FN>, tensor<5x32xf8E4M3FN>, tensor<3x1xf8E8M0FNU>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
}
