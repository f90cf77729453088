// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(fuse-cascades))' --remark-policy=all \
// RUN:   --remarks-filter=fuse --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s

/// Attention: one pass over the keys is enough. The remark says how partial results follow the maximum.

// CHECK-DAG: Analysis{{.*}}Map="exponential((x0 - r0))", Pass=0, Reason="rescaled by an exponential when the extremum changes", Remark="stablehlo.reduce r1 can share the pass over the rows of the reductions that it reads"
// CHECK-DAG: Analysis{{.*}}Reason="rescaled by an exponential when the extremum changes, multiplied by a factor at the end", Remark="stablehlo.dot_general r2 can share
func.func @attention(%q: tensor<2x16x8xf32>, %k: tensor<2x32x8xf32>, %v: tensor<2x32x8xf32>) -> tensor<2x16x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x16x8xf32>, tensor<2x32x8xf32>) -> tensor<2x16x32xf32>
  %m = stablehlo.reduce(%s init: %lowest) applies stablehlo.maximum across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x32xf32>
  %d = stablehlo.subtract %s, %mb : tensor<2x16x32xf32>
  %e = stablehlo.exponential %d : tensor<2x16x32xf32>
  %l = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
  %lb = stablehlo.broadcast_in_dim %l, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x32xf32>
  %p = stablehlo.divide %e, %lb : tensor<2x16x32xf32>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x16x32xf32>, tensor<2x32x8xf32>) -> tensor<2x16x8xf32>
  return %o : tensor<2x16x8xf32>
}

/// Deviations from a mean are not differences of functions of x and of the mean.

// CHECK-DAG: Missed{{.*}}Reason="separability: abs((x0 - r0)) is not a product of a function of the element and one of earlier results", Remark="stablehlo.reduce r1 cannot share
func.func @deviation(%x: tensor<4x32xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x32xf32>, tensor<f32>) -> tensor<4xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<4xf32>) -> tensor<4x32xf32>
  %d = stablehlo.subtract %x, %b : tensor<4x32xf32>
  %a = stablehlo.abs %d : tensor<4x32xf32>
  %r = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x32xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
