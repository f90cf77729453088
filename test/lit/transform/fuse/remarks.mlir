// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(fuse-group))' --remark-policy=all \
// RUN:   --remarks-filter=fuse --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(fuse-group,fuse-print))' -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=TABLE

/// Every join and every refusal says why.

// CHECK-DAG: Passed{{.*}}Reason="computes the same elements", Remark="stablehlo.add joins stablehlo.exponential"
// CHECK-DAG: Passed{{.*}}Reason="reduces the elements of the producer", Remark="stablehlo.reduce joins stablehlo.add"
// CHECK-DAG: Missed{{.*}}Reason="no kernel is generated for the producer", Remark="stablehlo.multiply does not join stablehlo.dot_general"

// TABLE: @why
// TABLE: 1 x exponential_add_reduce: 4 ops over 8x8 reduced over [1], 2 joins
// TABLE: 1 x multiply: 1 op over 8x8, an op by itself
// TABLE: 1 x stablehlo.dot_general alone
func.func @why(%x: tensor<8x8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.exponential %x : tensor<8x8xf32>
  %1 = stablehlo.add %0, %x : tensor<8x8xf32>
  %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = stablehlo.dot_general %1, %1, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = stablehlo.multiply %3, %3 : tensor<8x8xf32>
  return %2, %4 : tensor<8xf32>, tensor<8x8xf32>
}
