/// The op, its expansion, and compiled code have the values of the expression.
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(fuse-scaled-products{all=true}))' -o %t.mlir
// RUN: FileCheck %s --check-prefix=OP < %t.mlir
// RUN: tilewright run %t.mlir --on=evaluator | FileCheck %s
// RUN: tilewright run %s --on=evaluator | FileCheck %s
// RUN: tilewright run %s --on=cpu | FileCheck %s

// OP: exec.scaled_dot {{.*}} block 2 as bf16

// x = [[1, -2, 3, 0.5]] with scales [2, 0.5] is [[2, -4, 1.5, 0.25]]; y = [[1, 2, 4, 6], [0.5, 0, 1, -6]] with scales
// [[1, 4], [8, 1]] is [[1, 2, 16, 24], [4, 0, 1, -6]].
// CHECK: 24, 8
func.func public @main() -> tensor<1x2xf32> {
  %x = stablehlo.constant dense<[[1.0, -2.0, 3.0, 0.5]]> : tensor<1x4xf4E2M1FN>
  %y = stablehlo.constant dense<[[1.0, 2.0, 4.0, 6.0], [0.5, 0.0, 1.0, -6.0]]> : tensor<2x4xf4E2M1FN>
  %sx = stablehlo.constant dense<[[2.0, 0.5]]> : tensor<1x2xf8E4M3FN>
  %sy = stablehlo.constant dense<[[1.0, 4.0], [8.0, 1.0]]> : tensor<2x2xf8E4M3FN>
  %0 = stablehlo.convert %x : (tensor<1x4xf4E2M1FN>) -> tensor<1x4xf32>
  %1 = stablehlo.convert %sx : (tensor<1x2xf8E4M3FN>) -> tensor<1x2xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x2xf32>) -> tensor<1x2x2xf32>
  %3 = stablehlo.reshape %2 : (tensor<1x2x2xf32>) -> tensor<1x4xf32>
  %4 = stablehlo.multiply %0, %3 : tensor<1x4xf32>
  %5 = stablehlo.convert %y : (tensor<2x4xf4E2M1FN>) -> tensor<2x4xf32>
  %6 = stablehlo.convert %sy : (tensor<2x2xf8E4M3FN>) -> tensor<2x2xf32>
  %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<2x2xf32>) -> tensor<2x2x2xf32>
  %8 = stablehlo.reshape %7 : (tensor<2x2x2xf32>) -> tensor<2x4xf32>
  %9 = stablehlo.multiply %5, %8 : tensor<2x4xf32>
  %d = stablehlo.dot_general %4, %9, contracting_dims = [1] x [1] : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32>
  return %d : tensor<1x2xf32>
}
