// RUN: tilewright-opt %s --simplify-inline --split-input-file | FileCheck %s

/// About the largest may be exactly the largest: a sort by the comparator, of which the first stay.

// CHECK-LABEL: func.func public @largest
//  CHECK-SAME:   (%[[X:.*]]: tensor<4x8xf32>, %[[I:.*]]: tensor<4x8xi32>)
//       CHECK:   %[[S:.*]]:2 = "stablehlo.sort"(%[[X]], %[[I]]) <{dimension = 1 : i64, is_stable = true}> ({
//       CHECK:   ^bb0(%[[A:[a-z0-9]*]]: tensor<f32>, %[[B:[a-z0-9]*]]: tensor<f32>, {{.*}}):
//       CHECK:     %[[C:.*]] = stablehlo.compare GT, %[[A]], %[[B]]
//       CHECK:     stablehlo.return %[[C]]
//       CHECK:   %[[V:.*]] = stablehlo.slice %[[S]]#0 [0:4, 0:3]
//       CHECK:   %[[P:.*]] = stablehlo.slice %[[S]]#1 [0:4, 0:3]
//       CHECK:   return %[[V]], %[[P]]
//   CHECK-NOT: @top_k_gt
func.func public @largest(%x: tensor<4x8xf32>, %i: tensor<4x8xi32>) -> (tensor<4x3xf32>, tensor<4x3xi32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<-1> : tensor<i32>
  %0:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %low, %none) {
    called_computations = [@top_k_gt],
    mhlo.backend_config = {top_k = 3 : i64, reduction_dim = 1 : i64, recall_target = 0.95 : f32, is_fallback = true}
  } : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x3xf32>, tensor<4x3xi32>)
  return %0#0, %0#1 : tensor<4x3xf32>, tensor<4x3xi32>
}
func.func private @top_k_gt(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}

// -----

/// Without the dimension nobody knows what is asked for.

// CHECK-LABEL: func.func public @negative_no_dimension
//       CHECK:   stablehlo.custom_call @ApproxTopK
func.func public @negative_no_dimension(%x: tensor<8xf32>) -> tensor<3xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.custom_call @ApproxTopK(%x, %low) {called_computations = [@gt]} : (tensor<8xf32>, tensor<f32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func private @gt(%a: tensor<f32>, %b: tensor<f32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}
