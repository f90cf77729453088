// RUN: tilewright-opt %s --pass-pipeline='builtin.module(nvptx-attach-target{chip=sm_80},func.func(fuse-cascades))' | FileCheck %s

/// A program that returns only the gradient of the queries has no product of weights and values. The kernel of the gradient gets that of a forward kernel.
/// The weights are summed in a wider type than their own.

// CHECK-LABEL: func.func @main
//   CHECK-NOT:   tensor<64x64
//       CHECK:   %[[R:.*]], %[[ROWS:.*]]:2 = exec.softmax_dot(%arg0, %arg1, %arg2)
//       CHECK:   exec.softmax_dot_backward(%arg0, %arg1, %arg2, %arg3, %[[R]], %[[ROWS]]#0, %[[ROWS]]#1)
//   CHECK-NOT:   stablehlo.dot_general
func.func @main(%q: tensor<64x32xbf16>, %k: tensor<64x32xbf16>, %v: tensor<64x32xbf16>, %c: tensor<64x32xbf16>) -> tensor<64x32xbf16> {
  %low = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<64x64xbf16>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<64x64xbf16>, tensor<bf16>) -> tensor<64xbf16>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<64xbf16>) -> tensor<64x64xbf16>
  %d = stablehlo.subtract %s, %mb : tensor<64x64xbf16>
  %e = stablehlo.exponential %d : tensor<64x64xbf16>
  %none = stablehlo.constant dense<0.0> : tensor<bf16>
  %l = "stablehlo.reduce"(%e, %none) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %x = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %x : tensor<f32>
  }) : (tensor<64x64xbf16>, tensor<bf16>) -> tensor<64xf32>
  %lb = stablehlo.broadcast_in_dim %l, dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %ef = stablehlo.convert %e : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %p = stablehlo.divide %ef, %lb : tensor<64x64xf32>
  %dp0 = stablehlo.dot_general %c, %v, contracting_dims = [1] x [1] : (tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<64x64xbf16>
  %dp = stablehlo.convert %dp0 : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %w = stablehlo.multiply %dp, %p : tensor<64x64xf32>
  %r = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %t = stablehlo.subtract %dp, %rb : tensor<64x64xf32>
  %ds = stablehlo.multiply %t, %p : tensor<64x64xf32>
  %dsb = stablehlo.convert %ds : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %g = stablehlo.dot_general %dsb, %k, contracting_dims = [1] x [0] : (tensor<64x64xbf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16>
  return %g : tensor<64x32xbf16>
}
