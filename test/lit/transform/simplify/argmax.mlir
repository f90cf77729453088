// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(simplify-canonicalize,cse))' | FileCheck %s

/// JAX's argmax takes the left one of two NaNs, which is the first only in the order of the indices.
/// Here two NaNs are a tie, which the smaller index wins: lanes may combine in any order.

// CHECK-LABEL: func @argmax
//       CHECK:   reducer(%[[V:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>) (%[[I:.*]]: tensor<i32>, %[[A:.*]]: tensor<i32>)
//   CHECK-DAG:   %[[WINS:.*]] = stablehlo.or
//   CHECK-DAG:   %[[NUMBER:.*]] = stablehlo.compare EQ, %[[B]], %[[B]], FLOAT
//   CHECK-DAG:   %[[NAN:.*]] = stablehlo.compare NE, %[[B]], %[[B]], FLOAT
//   CHECK-DAG:   %[[BEATS:.*]] = stablehlo.and %[[WINS]], %[[NUMBER]]
//   CHECK-DAG:   %[[BOTH:.*]] = stablehlo.and %{{.*}}, %[[NAN]]
//   CHECK-DAG:   %[[TIE:.*]] = stablehlo.or %{{.*}}, %[[BOTH]]
//   CHECK-DAG:   %[[FIRST:.*]] = stablehlo.and %[[TIE]]
//       CHECK:   %[[TAKES:.*]] = stablehlo.or %[[BEATS]], %[[FIRST]]
//       CHECK:   stablehlo.select %[[TAKES]], %[[I]], %[[A]]
func.func @argmax(%x: tensor<8xf32>, %at: tensor<8xi32>, %low: tensor<f32>, %zero: tensor<i32>) -> tensor<i32> {
  %0:2 = stablehlo.reduce(%x init: %low), (%at init: %zero) across dimensions = [0] : (tensor<8xf32>, tensor<8xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
   reducer(%value: tensor<f32>, %best: tensor<f32>) (%index: tensor<i32>, %place: tensor<i32>) {
    %1 = stablehlo.compare GT, %value, %best, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.compare NE, %value, %value, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.or %1, %2 : tensor<i1>
    %4 = stablehlo.compare EQ, %value, %best, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %5 = stablehlo.compare LT, %index, %place, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.and %4, %5 : tensor<i1>
    %7 = stablehlo.or %3, %6 : tensor<i1>
    %8 = stablehlo.select %3, %value, %best : tensor<i1>, tensor<f32>
    %9 = stablehlo.select %7, %index, %place : tensor<i1>, tensor<i32>
    stablehlo.return %8, %9 : tensor<f32>, tensor<i32>
  }
  return %0#1 : tensor<i32>
}

/// Integers have no NaN.

// CHECK-LABEL: func @negative_integers
//       CHECK:   %[[WINS:.*]] = stablehlo.compare GT
//       CHECK:   stablehlo.or %[[WINS]]
//   CHECK-NOT:   stablehlo.compare NE
func.func @negative_integers(%x: tensor<8xi32>, %at: tensor<8xi32>, %low: tensor<i32>, %zero: tensor<i32>) -> tensor<i32> {
  %0:2 = stablehlo.reduce(%x init: %low), (%at init: %zero) across dimensions = [0] : (tensor<8xi32>, tensor<8xi32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
   reducer(%value: tensor<i32>, %best: tensor<i32>) (%index: tensor<i32>, %place: tensor<i32>) {
    %1 = stablehlo.compare GT, %value, %best, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.compare EQ, %value, %best, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = stablehlo.compare LT, %index, %place, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.and %4, %5 : tensor<i1>
    %7 = stablehlo.or %1, %6 : tensor<i1>
    %8 = stablehlo.select %1, %value, %best : tensor<i1>, tensor<i32>
    %9 = stablehlo.select %7, %index, %place : tensor<i1>, tensor<i32>
    stablehlo.return %8, %9 : tensor<i32>, tensor<i32>
  }
  return %0#1 : tensor<i32>
}
