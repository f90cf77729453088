// RUN: tilewright-opt %s --tile-fusions | FileCheck %s

/// A program of JAX after fusion; TileFusionsTest evaluates it before and after tiling.
// CHECK-NOT: exec.fusion

module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x64xf32>) -> (tensor<64xi32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<32x62xf32>, tensor<128x64xf32>) {
    %0 = exec.fusion "reduce"(%arg0) {reason = "over 64x64 reduced over [1]"} : (tensor<64x64xf32>) -> tensor<64xi32> {
    ^bb0(%arg1: tensor<64x64xf32>):
      %c = stablehlo.constant dense<0> : tensor<i32>
      %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %9 = stablehlo.iota dim = 1 : tensor<64x64xi32>
      %10:2 = stablehlo.reduce(%arg1 init: %cst_0), (%9 init: %c) across dimensions = [1] : (tensor<64x64xf32>, tensor<64x64xi32>, tensor<f32>, tensor<i32>) -> (tensor<64xf32>, tensor<64xi32>)
       reducer(%arg2: tensor<f32>, %arg4: tensor<f32>) (%arg3: tensor<i32>, %arg5: tensor<i32>) {
        %11 = stablehlo.compare  GT, %arg2, %arg4,  FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %12 = stablehlo.compare  NE, %arg2, %arg2,  FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %13 = stablehlo.or %11, %12 : tensor<i1>
        %14 = stablehlo.compare  EQ, %arg2, %arg4,  FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %15 = stablehlo.compare  LT, %arg3, %arg5,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %16 = stablehlo.and %14, %15 : tensor<i1>
        %17 = stablehlo.or %13, %16 : tensor<i1>
        %18 = stablehlo.select %13, %arg2, %arg4 : tensor<i1>, tensor<f32>
        %19 = stablehlo.select %17, %arg3, %arg5 : tensor<i1>, tensor<i32>
        stablehlo.return %18, %19 : tensor<f32>, tensor<i32>
      }
      exec.yield %10#1 : tensor<64xi32>
    }
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %cst) <{padding = dense<[[63, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 64, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %9 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
    %2 = "stablehlo.sort"(%arg0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %cst_0 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %9 = stablehlo.compare  EQ, %arg1, %cst_1,  FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %10 = stablehlo.select %9, %cst_1, %arg1 : tensor<i1>, tensor<f32>
      %11 = stablehlo.compare  NE, %arg1, %arg1,  FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %12 = stablehlo.select %11, %cst_0, %10 : tensor<i1>, tensor<f32>
      %13 = stablehlo.compare  EQ, %arg2, %cst_1,  FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %14 = stablehlo.select %13, %cst_1, %arg2 : tensor<i1>, tensor<f32>
      %15 = stablehlo.compare  NE, %arg2, %arg2,  FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %16 = stablehlo.select %15, %cst_0, %14 : tensor<i1>, tensor<f32>
      %17 = stablehlo.compare  LT, %12, %16,  TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %17 : tensor<i1>
    }) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %3 = exec.fusion "reduce_multiply_subtract_sqrt"(%arg0) {reason = "over 64x64 reduced over [0], 6 joins"} : (tensor<64x64xf32>) -> tensor<64xf32> {
    ^bb0(%arg1: tensor<64x64xf32>):
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %9 = stablehlo.reduce(%arg1 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
      %cst_1 = stablehlo.constant dense<1.562500e-02> : tensor<64xf32>
      %10 = stablehlo.multiply %9, %cst_1 : tensor<64xf32>
      %11 = stablehlo.broadcast_in_dim %10, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
      %12 = stablehlo.subtract %arg1, %11 : tensor<64x64xf32>
      %13 = stablehlo.multiply %12, %12 : tensor<64x64xf32>
      %14 = stablehlo.reduce(%13 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
      %15 = stablehlo.multiply %14, %cst_1 : tensor<64xf32>
      %16 = stablehlo.sqrt %15 : tensor<64xf32>
      exec.yield %16 : tensor<64xf32>
    }
    %4 = exec.fusion "slice_concatenate"(%arg0) {reason = "over 64x64"} : (tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%arg1: tensor<64x64xf32>):
      %9 = stablehlo.slice %arg1 [0:64, 0:61] : (tensor<64x64xf32>) -> tensor<64x61xf32>
      %10 = stablehlo.slice %arg1 [0:64, 61:64] : (tensor<64x64xf32>) -> tensor<64x3xf32>
      %11 = stablehlo.concatenate %10, %9, dim = 1 : (tensor<64x3xf32>, tensor<64x61xf32>) -> tensor<64x64xf32>
      exec.yield %11 : tensor<64x64xf32>
    }
    %5 = stablehlo.reverse %arg0, dims = [0, 1] : tensor<64x64xf32>
    %6 = stablehlo.slice %arg0 [0:64:2, 1:63] : (tensor<64x64xf32>) -> tensor<32x62xf32>
    %7 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [0] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %8 = stablehlo.concatenate %arg0, %7, dim = 0 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
    return %0, %1, %2, %3, %4, %5, %6, %8 : tensor<64xi32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<32x62xf32>, tensor<128x64xf32>
  }
}

