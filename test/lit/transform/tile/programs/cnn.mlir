// RUN: tilewright-opt %s --tile-fusions | FileCheck %s

/// A program of JAX after fusion; TileFusionsTest evaluates it before and after tiling.
// CHECK-NOT: exec.fusion

module @jit_conv attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x3x3x8xf32>, %arg1: tensor<512x10xf32>, %arg2: tensor<4x16x16x3xf32>) -> (tensor<3x3x3x8xf32>, tensor<512x10xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.convolution(%arg2, %arg0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x16x16x3xf32>, tensor<3x3x3x8xf32>) -> tensor<4x16x16x8xf32>
    %1 = exec.fusion "maximum"(%0) {reason = "over 4x16x16x8"} : (tensor<4x16x16x8xf32>) -> tensor<4x16x16x8xf32> {
    ^bb0(%arg3: tensor<4x16x16x8xf32>):
      %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x16x16x8xf32>
      %13 = stablehlo.maximum %arg3, %12 : tensor<4x16x16x8xf32>
      exec.yield %13 : tensor<4x16x16x8xf32>
    }
    %2 = "stablehlo.reduce_window"(%1, %cst) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %12 = stablehlo.maximum %arg3, %arg4 : tensor<f32>
      stablehlo.return %12 : tensor<f32>
    }) : (tensor<4x16x16x8xf32>, tensor<f32>) -> tensor<4x8x8x8xf32>
    %3 = stablehlo.reshape %2 : (tensor<4x8x8x8xf32>) -> tensor<4x512xf32>
    %4 = stablehlo.dot_general %3, %arg1, contracting_dims = [1] x [0] : (tensor<4x512xf32>, tensor<512x10xf32>) -> tensor<4x10xf32>
    %5 = exec.fusion "reduce_maximum_add_multiply"(%4) {reason = "over 4x10 reduced over [1], 14 joins"} : (tensor<4x10xf32>) -> tensor<4x10xf32> {
    ^bb0(%arg3: tensor<4x10xf32>):
      %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %12 = stablehlo.reduce(%arg3 init: %cst_1) applies stablehlo.maximum across dimensions = [1] : (tensor<4x10xf32>, tensor<f32>) -> tensor<4xf32>
      %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<4xf32>
      %13 = stablehlo.maximum %12, %cst_2 : tensor<4xf32>
      %14 = stablehlo.is_finite %13 : (tensor<4xf32>) -> tensor<4xi1>
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
      %15 = stablehlo.select %14, %13, %cst_3 : tensor<4xi1>, tensor<4xf32>
      %16 = stablehlo.broadcast_in_dim %15, dims = [0] : (tensor<4xf32>) -> tensor<4x10xf32>
      %17 = stablehlo.subtract %arg3, %16 : tensor<4x10xf32>
      %18 = stablehlo.exponential %17 : tensor<4x10xf32>
      %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %19 = stablehlo.reduce(%18 init: %cst_4) applies stablehlo.add across dimensions = [1] : (tensor<4x10xf32>, tensor<f32>) -> tensor<4xf32>
      %20 = stablehlo.abs %19 : tensor<4xf32>
      %21 = stablehlo.compare  GE, %19, %cst_3,  FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
      %cst_5 = stablehlo.constant dense<2.500000e-01> : tensor<4xf32>
      %22 = stablehlo.divide %cst_5, %20 : tensor<4xf32>
      %23 = stablehlo.select %21, %cst_3, %22 : tensor<4xi1>, tensor<4xf32>
      %24 = stablehlo.select %21, %22, %cst_3 : tensor<4xi1>, tensor<4xf32>
      %25 = stablehlo.negate %23 : tensor<4xf32>
      %26 = stablehlo.add %24, %25 : tensor<4xf32>
      %27 = stablehlo.broadcast_in_dim %26, dims = [0] : (tensor<4xf32>) -> tensor<4x10xf32>
      %28 = stablehlo.multiply %27, %18 : tensor<4x10xf32>
      exec.yield %28 : tensor<4x10xf32>
    }
    %6 = stablehlo.dot_general %3, %5, contracting_dims = [0] x [0] : (tensor<4x512xf32>, tensor<4x10xf32>) -> tensor<512x10xf32>
    %7 = stablehlo.dot_general %5, %arg1, contracting_dims = [1] x [1] : (tensor<4x10xf32>, tensor<512x10xf32>) -> tensor<4x512xf32>
    %8 = stablehlo.reshape %7 : (tensor<4x512xf32>) -> tensor<4x8x8x8xf32>
    %9 = "stablehlo.select_and_scatter"(%1, %8, %cst_0) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %12 = stablehlo.compare  GE, %arg3, %arg4,  FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %12 : tensor<i1>
    }, {
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %12 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %12 : tensor<f32>
    }) : (tensor<4x16x16x8xf32>, tensor<4x8x8x8xf32>, tensor<f32>) -> tensor<4x16x16x8xf32>
    %10 = exec.fusion "compare_select"(%0, %9) {reason = "over 4x16x16x8, 1 join"} : (tensor<4x16x16x8xf32>, tensor<4x16x16x8xf32>) -> tensor<4x16x16x8xf32> {
    ^bb0(%arg3: tensor<4x16x16x8xf32>, %arg4: tensor<4x16x16x8xf32>):
      %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x16x16x8xf32>
      %13 = stablehlo.compare  GT, %arg3, %12,  FLOAT : (tensor<4x16x16x8xf32>, tensor<4x16x16x8xf32>) -> tensor<4x16x16x8xi1>
      %14 = stablehlo.select %13, %arg4, %12 : tensor<4x16x16x8xi1>, tensor<4x16x16x8xf32>
      exec.yield %14 : tensor<4x16x16x8xf32>
    }
    %11 = stablehlo.convolution(%arg2, %10) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x16x16x3xf32>, tensor<4x16x16x8xf32>) -> tensor<3x3x3x8xf32>
    return %11, %6 : tensor<3x3x3x8xf32>, tensor<512x10xf32>
  }
}

