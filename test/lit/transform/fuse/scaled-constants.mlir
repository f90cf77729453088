// RUN: tilewright-opt %s --nvptx-attach-target=chip=sm_100a --fuse | FileCheck %s

/// The kernel of a scaled product copies its operands from memory, so a splat constant stays outside of its fusion.

// CHECK-LABEL: func.func public @main
//       CHECK:   %[[Y:.*]] = stablehlo.constant dense<2.000000e+00> : tensor<32x64xf8E4M3FN>
//       CHECK:   exec.fusion "scaled_matmul"(%{{.*}}, %[[Y]], %{{.*}}, %{{.*}})
//   CHECK-NOT:   stablehlo.constant dense<2.000000e+00>
//       CHECK:   return
func.func public @main(%x: tensor<64x64xf8E4M3FN>, %sx: tensor<64x2xf8E8M0FNU>, %sy: tensor<32x2xf8E8M0FNU>) -> tensor<64x32xf32> {
  %y = stablehlo.constant dense<2.0> : tensor<32x64xf8E4M3FN>
  %0 = exec.scaled_dot %x, %y scaled(%sx : tensor<64x2xf8E8M0FNU>) scaled_rhs(%sy : tensor<32x2xf8E8M0FNU>) block 32 as bf16
    {lhs_batching_dimensions = array<i64>, rhs_batching_dimensions = array<i64>, lhs_contracting_dimension = 1 : i64, rhs_contracting_dimension = 1 : i64}
    : tensor<64x64xf8E4M3FN>, tensor<32x64xf8E4M3FN> -> tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}
