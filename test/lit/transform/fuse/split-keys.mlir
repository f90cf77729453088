// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(fuse-split-keys))' --split-input-file \
// RUN:   --remark-policy=all --remarks-filter=fuse --remark-format=emitRemark 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t

#ampere = #exec.target<chip = "sm_80", units = 108, gpu = <>, matrix = <types = [f16, bf16, tf32]>>
module attributes {exec.target = #ampere} {

/// The parts are the last heads: in front of the keys in what they read, in front of all else in what they compute. The second and third
/// results are the maxima and the sums of rows.

// CHECK-LABEL: func @decode
//       CHECK:   %[[K:.*]] = stablehlo.reshape %arg1 : (tensor<2x4096x64xf16>) -> tensor<2x[[S:[0-9]+]]x[[R:[0-9]+]]x64xf16>
//       CHECK:   %[[V:.*]] = stablehlo.reshape %arg2 : (tensor<2x4096x64xf16>) -> tensor<2x[[S]]x[[R]]x64xf16>
//       CHECK:   %[[P:.*]], %[[ROWS:.*]]:2 = exec.softmax_dot(%arg0, %[[K]], %[[V]]) sizes [2, [[S]], 1, [[R]], 64, 64]
//  CHECK-SAME:     dims [array<i64: 0, 2, 4>, array<i64: 0, 1, 3, 4>, array<i64: 0, 1, 3, 5>, array<i64: 1, 0, 2, 5>]
//  CHECK-SAME:     -> (tensor<[[S]]x2x1x64xf32>, tensor<2x[[S]]x1xf32>, tensor<2x[[S]]x1xf32>)
//       CHECK:   %[[M:.*]] = stablehlo.reduce(%[[ROWS]]#0 init: %{{.*}}) applies stablehlo.maximum across dimensions = [1]
//       CHECK:   %[[EMPTY:.*]] = stablehlo.compare{{ +}}EQ, %[[ROWS]]#0
//       CHECK:   %[[W:.*]] = stablehlo.select %[[EMPTY]]
//       CHECK:   %[[T:.*]] = stablehlo.reduce(%[[W]] init: %{{.*}}) applies stablehlo.add across dimensions = [1]
//       CHECK:   %[[SUM:.*]] = stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.add across dimensions = [0]
//       CHECK:   %[[Q:.*]] = stablehlo.divide %[[SUM]]
//       CHECK:   %[[R16:.*]] = stablehlo.convert %[[Q]] : (tensor<2x1x64xf32>) -> tensor<2x1x64xf16>
//       CHECK:   return %[[R16]]
// WHY: attention to 4096 keys would occupy 2 of 108 multiprocessors and is divided along the keys: {{[0-9]+}} parts of {{[0-9]+}}, which other kernels combine
func.func @decode(%q: tensor<2x1x64xf16>, %k: tensor<2x4096x64xf16>, %v: tensor<2x4096x64xf16>) -> tensor<2x1x64xf16> {
  %r = exec.softmax_dot(%q, %k, %v) sizes [2, 1, 4096, 64, 64] dims [array<i64: 0, 1, 3>, array<i64: 0, 2, 3>, array<i64: 0, 2, 4>, array<i64: 0, 1, 4>] weights f16
       : (tensor<2x1x64xf16>, tensor<2x4096x64xf16>, tensor<2x4096x64xf16>) -> tensor<2x1x64xf16> {
  ^bb0(%product: f32, %query: i32, %key: i32):
    exec.yield_score %product : f32
  }
  return %r : tensor<2x1x64xf16>
}

/// A mask sees the same numbers of keys as before. The bias has keys, too.

// CHECK-LABEL: func @masked
//       CHECK:   stablehlo.reshape %arg3 : (tensor<2048xf32>) -> tensor<[[S:[0-9]+]]x[[R:[0-9]+]]xf32>
//       CHECK:   %[[FIRST:.*]] = stablehlo.constant dense<[0, [[R]],{{.*}}]> : tensor<[[S]]xi32>
//       CHECK:   exec.softmax_dot(
//       CHECK:   ^bb0(%[[PRODUCT:.*]]: f32, %{{.*}}: i32, %[[KEY:.*]]: i32, %[[BIAS:.*]]: f32, %[[PART:.*]]: i32):
//       CHECK:     %[[NUMBER:.*]] = arith.addi %[[KEY]], %[[PART]] overflow<nsw> : i32
//       CHECK:     arith.cmpi slt, %[[NUMBER]]
func.func @masked(%q: tensor<1x16xf32>, %k: tensor<2048x16xf32>, %v: tensor<2048x16xf32>, %bias: tensor<2048xf32>) -> tensor<1x16xf32> {
  %r = exec.softmax_dot(%q, %k, %v, %bias) sizes [1, 2048, 16, 16] dims [array<i64: 0, 2>, array<i64: 1, 2>, array<i64: 1, 3>, array<i64: 1>, array<i64: 0, 3>] weights f32 masked -1.0e+30
       : (tensor<1x16xf32>, tensor<2048x16xf32>, tensor<2048x16xf32>, tensor<2048xf32>) -> tensor<1x16xf32> {
  ^bb0(%product: f32, %query: i32, %key: i32, %b: f32):
    %end = arith.constant 700 : i32
    %low = arith.constant -1.0e+30 : f32
    %visible = arith.cmpi slt, %key, %end : i32
    %sum = arith.addf %product, %b : f32
    %score = arith.select %visible, %sum, %low : f32
    exec.yield_score %score visible %visible : f32
  }
  return %r : tensor<1x16xf32>
}

/// Enough blocks of queries, few keys, and a number of keys that has no suitable part stay as they are.

// CHECK-LABEL: func @whole
//       CHECK:   sizes [256, 1, 4096, 64, 64]
//       CHECK:   sizes [2, 1, 128, 64, 64]
//       CHECK:   sizes [2, 1, 4100, 64, 64]
//       CHECK:   return
// WHY: Reason="their number is not a multiple of 64", Remark="attention to 4100 keys would occupy 2 of 108 multiprocessors, but is not divided along the keys"
func.func @whole(%a: tensor<256x1x64xf16>, %b: tensor<256x4096x64xf16>, %c: tensor<2x1x64xf16>, %d: tensor<2x128x64xf16>,
                 %e: tensor<2x4100x64xf16>) -> (tensor<256x1x64xf16>, tensor<2x1x64xf16>, tensor<2x1x64xf16>) {
  %0 = exec.softmax_dot(%a, %b, %b) sizes [256, 1, 4096, 64, 64] dims [array<i64: 0, 1, 3>, array<i64: 0, 2, 3>, array<i64: 0, 2, 4>, array<i64: 0, 1, 4>] weights f16
       : (tensor<256x1x64xf16>, tensor<256x4096x64xf16>, tensor<256x4096x64xf16>) -> tensor<256x1x64xf16> {
  ^bb0(%product: f32, %query: i32, %key: i32):
    exec.yield_score %product : f32
  }
  %1 = exec.softmax_dot(%c, %d, %d) sizes [2, 1, 128, 64, 64] dims [array<i64: 0, 1, 3>, array<i64: 0, 2, 3>, array<i64: 0, 2, 4>, array<i64: 0, 1, 4>] weights f16
       : (tensor<2x1x64xf16>, tensor<2x128x64xf16>, tensor<2x128x64xf16>) -> tensor<2x1x64xf16> {
  ^bb0(%product: f32, %query: i32, %key: i32):
    exec.yield_score %product : f32
  }
  %2 = exec.softmax_dot(%c, %e, %e) sizes [2, 1, 4100, 64, 64] dims [array<i64: 0, 1, 3>, array<i64: 0, 2, 3>, array<i64: 0, 2, 4>, array<i64: 0, 1, 4>] weights f16
       : (tensor<2x1x64xf16>, tensor<2x4100x64xf16>, tensor<2x4100x64xf16>) -> tensor<2x1x64xf16> {
  ^bb0(%product: f32, %query: i32, %key: i32):
    exec.yield_score %product : f32
  }
  return %0, %1, %2 : tensor<256x1x64xf16>, tensor<2x1x64xf16>, tensor<2x1x64xf16>
}

}
