// RUN: tilewright-opt %s --fuse-rows --split-input-file | FileCheck %s

/// A sort is a fusion with its indices; a result without readers is not written.

// CHECK-LABEL: func @argsort(
//  CHECK-SAME:   %[[X:.*]]: tensor<8xf32>
//       CHECK:   %[[ORDER:.*]] = exec.fusion "sort"(%[[X]]) {{.*}} : (tensor<8xf32>) -> tensor<8xi32>
//       CHECK:   ^bb0(%[[A:.*]]: tensor<8xf32>):
//       CHECK:     %[[I:.*]] = stablehlo.iota dim = 0 : tensor<8xi32>
//       CHECK:     %[[S:.*]]:2 = "stablehlo.sort"(%[[A]], %[[I]])
//       CHECK:     exec.yield %[[S]]#1 : tensor<8xi32>
//       CHECK:   return %[[ORDER]]
module attributes {exec.target = #exec.target<gpu = <>>} {
func.func @argsort(%x: tensor<8xf32>) -> tensor<8xi32> {
  %i = stablehlo.iota dim = 0 : tensor<8xi32>
  %r:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
    %0 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<8xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>)
  return %r#1 : tensor<8xi32>
}
}

// -----

/// If all readers keep the first three elements, the fusion computes no others.

// CHECK-LABEL: func @top(
//       CHECK:   %[[TOP:.*]]:2 = exec.fusion "sort"(%{{.*}}, %{{.*}}) {{.*}} : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x3xf32>, tensor<4x3xi32>)
//       CHECK:     %[[S:.*]]:2 = "stablehlo.sort"
//       CHECK:     stablehlo.slice %[[S]]#0 [0:4, 0:3]
//       CHECK:     stablehlo.slice %[[S]]#1 [0:4, 0:3]
//   CHECK-NOT:   stablehlo.slice
//       CHECK:   return %[[TOP]]#0, %[[TOP]]#1
module attributes {exec.target = #exec.target<gpu = <>>} {
func.func @top(%x: tensor<4x8xf32>, %y: tensor<4x8xi32>) -> (tensor<4x3xf32>, tensor<4x3xi32>) {
  %r:2 = "stablehlo.sort"(%x, %y) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
    %0 = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
  %0 = stablehlo.slice %r#0 [0:4, 0:3] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  %1 = stablehlo.slice %r#1 [0:4, 0:3] : (tensor<4x8xi32>) -> tensor<4x3xi32>
  return %0, %1 : tensor<4x3xf32>, tensor<4x3xi32>
}
}

// -----

/// Another reader needs all elements, so the slice stays outside.

// CHECK-LABEL: func @negative_top(
//       CHECK:   %[[S:.*]] = exec.fusion "sort"(%{{.*}}) {{.*}} : (tensor<8xf32>) -> tensor<8xf32>
//       CHECK:   stablehlo.slice %[[S]] [0:3]
module attributes {exec.target = #exec.target<gpu = <>>} {
func.func @negative_top(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<3xf32>) {
  %r = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %0 = stablehlo.slice %r [0:3] : (tensor<8xf32>) -> tensor<3xf32>
  return %r, %0 : tensor<8xf32>, tensor<3xf32>
}
}

// -----

/// Long columns are sorted as rows; the slice moves before the transpose back.

// CHECK-LABEL: func @columns(
//       CHECK:   %[[T:.*]] = stablehlo.transpose %{{.*}}, dims = [0, 2, 1] : (tensor<2x2000x3xf32>) -> tensor<2x3x2000xf32>
//       CHECK:   %[[S:.*]] = exec.fusion "sort"(%[[T]]) {{.*}} : (tensor<2x3x2000xf32>) -> tensor<2x3x5xi32>
//       CHECK:     stablehlo.iota dim = 2 : tensor<2x3x2000xi32>
//       CHECK:     dimension = 2
//       CHECK:   %[[B:.*]] = stablehlo.transpose %[[S]], dims = [0, 2, 1] : (tensor<2x3x5xi32>) -> tensor<2x5x3xi32>
//       CHECK:   return %[[B]]
module attributes {exec.target = #exec.target<gpu = <>>} {
func.func @columns(%x: tensor<2x2000x3xf32>) -> tensor<2x5x3xi32> {
  %i = stablehlo.iota dim = 1 : tensor<2x2000x3xi32>
  %r:2 = "stablehlo.sort"(%x, %i) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
    %0 = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<2x2000x3xf32>, tensor<2x2000x3xi32>) -> (tensor<2x2000x3xf32>, tensor<2x2000x3xi32>)
  %0 = stablehlo.slice %r#1 [0:2, 0:5, 0:3] : (tensor<2x2000x3xi32>) -> tensor<2x5x3xi32>
  return %0 : tensor<2x5x3xi32>
}
}

// -----

/// One element is sorted.

// CHECK-LABEL: func @negative_one(
//  CHECK-SAME:   %[[X:.*]]: tensor<8x1xf32>
//       CHECK:   return %[[X]]
module attributes {exec.target = #exec.target<gpu = <>>} {
func.func @negative_one(%x: tensor<8x1xf32>) -> tensor<8x1xf32> {
  %r = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<8x1xf32>) -> tensor<8x1xf32>
  return %r : tensor<8x1xf32>
}
}

// -----

/// A CPU has a library.

// CHECK-LABEL: func @negative_cpu(
//   CHECK-NOT:   exec.fusion
func.func @negative_cpu(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
