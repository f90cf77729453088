// RUN: tilewright-opt %s --pass-pipeline='builtin.module(nvptx-attach-target{chip=sm_80},func.func(fuse-products),tile-fusions)' | FileCheck %s
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(nvptx-attach-target{chip=sm_80},func.func(fuse-products),tile-fusions,tile-solve-layouts)' | FileCheck %s --check-prefix=LAYOUT

/// A point has 64 queries of a head, and computes scores, weights and their gradients again for each block of keys that the mask
/// shows. The part of the keys in memory is read once for both products that have it as an operand.

// CHECK-LABEL: func.func @of_queries
// CHECK: exec.launch @softmax_dot_backward(
// CHECK-LABEL: tile.kernel @softmax_dot_backward grid [2, 2]
// CHECK: %[[Q:.*]] = tile.view %{{.*}} -> tensor<64x32xf16>
// CHECK: %[[C:.*]] = tile.view %{{.*}} -> tensor<64x32xf16>
// CHECK: %[[DOT:.*]] = tile.reduce {{.*}} dims [1]
// CHECK: scf.for {{.*}} -> (tensor<64x32xf32>)
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} {{.*}} -> (tensor<64x32xf32>)
// CHECK: tile.dot %[[Q]], {{.*}} : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
// CHECK: tile.dot %[[C]], {{.*}} : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
// CHECK: math.exp2 {{.*}} fastmath<afn>
// CHECK: tile.dot {{.*}} : tensor<64x64xf16>, tensor<64x32xf16> -> tensor<64x32xf32>
// CHECK-NOT: tile.dot
// CHECK: tile.store {{.*}} memref<2x128x32xf16>
// CHECK: tile.store %{{.*}} memref<2x128xf32>

/// Weights and gradients stay where the products left their sums.
// LAYOUT: sm.kernel @softmax_dot_backward
func.func @of_queries(%q: tensor<2x128x32xf16>, %k: tensor<2x256x32xf16>, %v: tensor<2x256x32xf16>, %c: tensor<2x128x32xf16>,
                      %r: tensor<2x128x32xf16>, %max: tensor<2x128xf32>, %sum: tensor<2x128xf32>) -> (tensor<2x128x32xf16>, tensor<2x128xf32>) {
  %g:2 = exec.softmax_dot_backward(%q, %k, %v, %c, %r, %max, %sum) sizes [2, 128, 256, 32, 32]
      dims [array<i64: 0, 1, 3>, array<i64: 0, 2, 3>, array<i64: 0, 2, 4>, array<i64: 0, 1, 4>, array<i64: 0, 1, 4>, array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0, 1, 3>, array<i64: 0, 1>]
      weights f16 gradients f16 [0, 3]
      : (tensor<2x128x32xf16>, tensor<2x256x32xf16>, tensor<2x256x32xf16>, tensor<2x128x32xf16>, tensor<2x128x32xf16>, tensor<2x128xf32>, tensor<2x128xf32>) -> (tensor<2x128x32xf16>, tensor<2x128xf32>) {
  ^bb0(%product: f32, %cotangent: f32, %dot: f32, %query: i32, %key: i32, %m: f32, %l: f32):
    %lowest = arith.constant -1.0e+30 : f32
    %enough = arith.constant 104.0 : f32
    %shown = arith.cmpi sle, %key, %query : i32
    %score = arith.select %shown, %product, %lowest : f32
    %d = arith.subf %score, %m : f32
    %e = math.exp %d : f32
    %w = arith.divf %e, %l : f32
    %x = arith.subf %cotangent, %dot : f32
    %gradient = arith.mulf %x, %w : f32
    %distance = arith.subf %m, %lowest : f32
    %counts = arith.cmpf ule, %distance, %enough : f32
    %visible = arith.ori %shown, %counts : i1
    exec.yield_gradient %w, %gradient visible %visible : f32, f32
  }
  return %g#0, %g#1 : tensor<2x128x32xf16>, tensor<2x128xf32>
}
