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

/// An initial value that is not neutral is added once.

// CHECK-LABEL: func @added_once
//   CHECK-DAG:   %[[INIT:.*]] = stablehlo.constant dense<1.000000e+00>
//   CHECK-DAG:   %[[NEUTRAL:.*]] = stablehlo.constant dense<-0.000000e+00>
//       CHECK:   %[[P:.*]] = stablehlo.reduce(%{{.*}} init: %[[NEUTRAL]]) applies stablehlo.add across dimensions = [1]
//       CHECK:   stablehlo.reduce(%[[P]] init: %[[INIT]]) applies stablehlo.add across dimensions = [0]
//       CHECK:   %[[Q:.*]] = stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.multiply across dimensions = [1]
//       CHECK:   stablehlo.reduce(%[[Q]] init: %arg2) applies stablehlo.multiply across dimensions = [0]
//       CHECK:   %[[R:.*]] = stablehlo.reduce(%{{.*}} init: %arg1) applies stablehlo.maximum across dimensions = [1]
//       CHECK:   stablehlo.reduce(%[[R]] init: %arg1) applies stablehlo.maximum across dimensions = [0]
func.func @added_once(%x: tensor<1048576xf32>, %a: tensor<f32>, %b: tensor<i32>, %y: tensor<1048576xi32>) -> (tensor<f32>, tensor<i32>, tensor<f32>) {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %one) applies stablehlo.add across dimensions = [0] : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.reduce(%y init: %b) applies stablehlo.multiply across dimensions = [0] : (tensor<1048576xi32>, tensor<i32>) -> tensor<i32>
  %2 = stablehlo.reduce(%x init: %a) applies stablehlo.maximum across dimensions = [0] : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1, %2 : tensor<f32>, tensor<i32>, tensor<f32>
}

/// A body that computes in a wider type: the partial results have it, and so has their initial value.

// CHECK-LABEL: func @wider
//       CHECK:   stablehlo.reduce({{.*}}) across dimensions = [1] : (tensor<1024x1024xbf16>, tensor<bf16>) -> tensor<1024xf32>
//       CHECK:   %[[INIT:.*]] = stablehlo.convert %{{.*}} : (tensor<bf16>) -> tensor<f32>
//       CHECK:   stablehlo.reduce(%{{.*}} init: %[[INIT]]) applies stablehlo.add across dimensions = [0] : (tensor<1024xf32>, tensor<f32>) -> tensor<f32>
func.func @wider(%x: tensor<1048576xbf16>) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<bf16>
  %r = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1048576xbf16>, tensor<bf16>) -> tensor<f32>
  return %r : tensor<f32>
}

/// Two results at once: a maximum and its position are split, since their initial values change nothing. Two sums
/// that begin at 1 are not.

// CHECK-LABEL: func @pairs
// CHECK-COUNT-2: stablehlo.reshape
// CHECK-COUNT-2: stablehlo.reduce
//   CHECK-NOT:   stablehlo.reshape
//       CHECK:   stablehlo.reduce
//       CHECK:   return
func.func @pairs(%x: tensor<1048576xf32>, %i: tensor<1048576xi32>) -> (tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0:2 = stablehlo.reduce(%x init: %least), (%i init: %zero) across dimensions = [0] : (tensor<1048576xf32>, tensor<1048576xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>) {
    %p = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %m = stablehlo.select %p, %a, %b : tensor<i1>, tensor<f32>
    %n = stablehlo.select %p, %j, %k : tensor<i1>, tensor<i32>
    stablehlo.return %m, %n : tensor<f32>, tensor<i32>
  }
  %1:2 = stablehlo.reduce(%x init: %one), (%i init: %zero) across dimensions = [0] : (tensor<1048576xf32>, tensor<1048576xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>) {
    %m = stablehlo.add %a, %b : tensor<f32>
    %n = stablehlo.add %j, %k : tensor<i32>
    stablehlo.return %m, %n : tensor<f32>, tensor<i32>
  }
  return %0#0, %0#1, %1#0, %1#1 : tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>
}
