// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(fuse-split-reduce))' | FileCheck %s

/// A million elements to one: rows first, then the rows' results.

// CHECK-LABEL: func @to_a_scalar
//       CHECK:   %[[R:.*]] = stablehlo.reshape %arg0 : (tensor<1048576xf32>) -> tensor<1024x1024xf32>
//       CHECK:   %[[P:.*]] = stablehlo.reduce(%[[R]] init: %{{.*}}) applies stablehlo.add across dimensions = [1]
//       CHECK:   stablehlo.reduce(%[[P]] init: %{{.*}}) applies stablehlo.add across dimensions = [0]
func.func @to_a_scalar(%x: tensor<1048576xf32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

/// Rows end where dimensions end, or divide one: 192 rows of 512 would be more, but cut across the last two.

// CHECK-LABEL: func @rows_of_dimensions
//       CHECK:   stablehlo.reshape %arg0 : (tensor<2x128x384xf32>) -> tensor<128x768xf32>
func.func @rows_of_dimensions(%x: tensor<2x128x384xf32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x128x384xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

/// Enough results for every thread, a small tensor, and a prime number stay as they are.

// CHECK-LABEL: func @negative
//   CHECK-NOT:   stablehlo.reshape
func.func @negative(%x: tensor<1024x1024xf32>, %y: tensor<1000xf32>, %p: tensor<1048583xf32>)
    -> (tensor<1024xf32>, tensor<f32>, tensor<f32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %1 = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0] : (tensor<1000xf32>, tensor<f32>) -> tensor<f32>
  %2 = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0] : (tensor<1048583xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1, %2 : tensor<1024xf32>, tensor<f32>, tensor<f32>
}
