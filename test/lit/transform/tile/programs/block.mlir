// RUN: tilewright-opt %s --tile-fusions | FileCheck %s

/// A program of JAX after fusion; TileFusionsTest evaluates it before and after tiling.
// CHECK-NOT: exec.fusion

module @jit_block attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>, %arg2: tensor<64xf32>, %arg3: tensor<64xf32>, %arg4: tensor<64x64xf32>, %arg5: tensor<64x64xf32>, %arg6: tensor<64x64xf32>, %arg7: tensor<64x64xf32>, %arg8: tensor<64x256xf32>, %arg9: tensor<256x64xf32>, %arg10: tensor<2x16x64xf32>) -> (tensor<2x16x64xf32>) {
    %0 = exec.fusion "reduce_multiply_sqrt_divide"(%arg10, %arg2, %arg0) {reason = "over 2x16x64 reduced over [2], 10 joins"} : (tensor<2x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> {
    ^bb0(%arg11: tensor<2x16x64xf32>, %arg12: tensor<64xf32>, %arg13: tensor<64xf32>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %18 = stablehlo.reduce(%arg11 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x16x64xf32>, tensor<f32>) -> tensor<2x16xf32>
      %cst_0 = stablehlo.constant dense<1.562500e-02> : tensor<2x16xf32>
      %19 = stablehlo.multiply %18, %cst_0 : tensor<2x16xf32>
      %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x64xf32>
      %21 = stablehlo.subtract %arg11, %20 : tensor<2x16x64xf32>
      %22 = stablehlo.multiply %21, %21 : tensor<2x16x64xf32>
      %23 = stablehlo.reduce(%22 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x16x64xf32>, tensor<f32>) -> tensor<2x16xf32>
      %24 = stablehlo.multiply %23, %cst_0 : tensor<2x16xf32>
      %cst_1 = stablehlo.constant dense<9.99999974E-6> : tensor<2x16xf32>
      %25 = stablehlo.add %24, %cst_1 : tensor<2x16xf32>
      %26 = stablehlo.sqrt %25 : tensor<2x16xf32>
      %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x64xf32>
      %28 = stablehlo.divide %21, %27 : tensor<2x16x64xf32>
      %29 = stablehlo.broadcast_in_dim %arg12, dims = [2] : (tensor<64xf32>) -> tensor<2x16x64xf32>
      %30 = stablehlo.multiply %28, %29 : tensor<2x16x64xf32>
      %31 = stablehlo.broadcast_in_dim %arg13, dims = [2] : (tensor<64xf32>) -> tensor<2x16x64xf32>
      %32 = stablehlo.add %30, %31 : tensor<2x16x64xf32>
      exec.yield %32 : tensor<2x16x64xf32>
    }
    %1 = stablehlo.dot_general %0, %arg6, contracting_dims = [2] x [0] : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
    %2 = stablehlo.reshape %1 : (tensor<2x16x64xf32>) -> tensor<2x16x4x16xf32>
    %3 = stablehlo.dot_general %0, %arg4, contracting_dims = [2] x [0] : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
    %4 = stablehlo.reshape %3 : (tensor<2x16x64xf32>) -> tensor<2x16x4x16xf32>
    %5 = stablehlo.dot_general %0, %arg7, contracting_dims = [2] x [0] : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
    %6 = stablehlo.reshape %5 : (tensor<2x16x64xf32>) -> tensor<2x16x4x16xf32>
    %7 = stablehlo.dot_general %2, %4, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>) -> tensor<2x4x16x16xf32>
    %8 = exec.fusion "multiply_compare_exponential_divide"(%7) {reason = "over 2x4x16x16 reduced over [3], 7 joins"} : (tensor<2x4x16x16xf32>) -> tensor<2x4x16x16xf32> {
    ^bb0(%arg11: tensor<2x4x16x16xf32>):
      %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
      %18 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x16x16xf32>
      %19 = stablehlo.multiply %arg11, %18 : tensor<2x4x16x16xf32>
      %cst_0 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
      %20 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x4x16x16xf32>
      %21 = stablehlo.iota dim = 1 : tensor<16x16xi32>
      %22 = stablehlo.iota dim = 0 : tensor<16x16xi32>
      %23 = stablehlo.compare  GE, %22, %21,  SIGNED : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
      %24 = stablehlo.broadcast_in_dim %23, dims = [2, 3] : (tensor<16x16xi1>) -> tensor<2x4x16x16xi1>
      %25 = stablehlo.select %24, %19, %20 : tensor<2x4x16x16xi1>, tensor<2x4x16x16xf32>
      %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %26 = stablehlo.reduce(%25 init: %cst_1) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x16x16xf32>, tensor<f32>) -> tensor<2x4x16xf32>
      %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<2x4x16xf32>
      %27 = stablehlo.maximum %26, %cst_2 : tensor<2x4x16xf32>
      %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2] : (tensor<2x4x16xf32>) -> tensor<2x4x16x16xf32>
      %29 = stablehlo.subtract %25, %28 : tensor<2x4x16x16xf32>
      %30 = stablehlo.exponential %29 : tensor<2x4x16x16xf32>
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %31 = stablehlo.reduce(%30 init: %cst_3) applies stablehlo.add across dimensions = [3] : (tensor<2x4x16x16xf32>, tensor<f32>) -> tensor<2x4x16xf32>
      %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2] : (tensor<2x4x16xf32>) -> tensor<2x4x16x16xf32>
      %33 = stablehlo.divide %30, %32 : tensor<2x4x16x16xf32>
      exec.yield %33 : tensor<2x4x16x16xf32>
    }
    %9 = stablehlo.dot_general %8, %6, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x4x16x16xf32>, tensor<2x16x4x16xf32>) -> tensor<2x4x16x16xf32>
    %10 = stablehlo.transpose %9, dims = [0, 2, 1, 3] : (tensor<2x4x16x16xf32>) -> tensor<2x16x4x16xf32>
    %11 = stablehlo.reshape %10 : (tensor<2x16x4x16xf32>) -> tensor<2x16x64xf32>
    %12 = stablehlo.dot_general %11, %arg5, contracting_dims = [2] x [0] : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
    %13:2 = exec.fusion "add_reduce_sqrt_divide"(%arg10, %12, %arg3, %arg1) {reason = "over 2x16x64 reduced over [2], 11 joins"} : (tensor<2x16x64xf32>, tensor<2x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<2x16x64xf32>, tensor<2x16x64xf32>) {
    ^bb0(%arg11: tensor<2x16x64xf32>, %arg12: tensor<2x16x64xf32>, %arg13: tensor<64xf32>, %arg14: tensor<64xf32>):
      %18 = stablehlo.add %arg11, %arg12 : tensor<2x16x64xf32>
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %19 = stablehlo.reduce(%18 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x16x64xf32>, tensor<f32>) -> tensor<2x16xf32>
      %cst_0 = stablehlo.constant dense<1.562500e-02> : tensor<2x16xf32>
      %20 = stablehlo.multiply %19, %cst_0 : tensor<2x16xf32>
      %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x64xf32>
      %22 = stablehlo.subtract %18, %21 : tensor<2x16x64xf32>
      %23 = stablehlo.multiply %22, %22 : tensor<2x16x64xf32>
      %24 = stablehlo.reduce(%23 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x16x64xf32>, tensor<f32>) -> tensor<2x16xf32>
      %25 = stablehlo.multiply %24, %cst_0 : tensor<2x16xf32>
      %cst_1 = stablehlo.constant dense<9.99999974E-6> : tensor<2x16xf32>
      %26 = stablehlo.add %25, %cst_1 : tensor<2x16xf32>
      %27 = stablehlo.sqrt %26 : tensor<2x16xf32>
      %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x64xf32>
      %29 = stablehlo.divide %22, %28 : tensor<2x16x64xf32>
      %30 = stablehlo.broadcast_in_dim %arg13, dims = [2] : (tensor<64xf32>) -> tensor<2x16x64xf32>
      %31 = stablehlo.multiply %29, %30 : tensor<2x16x64xf32>
      %32 = stablehlo.broadcast_in_dim %arg14, dims = [2] : (tensor<64xf32>) -> tensor<2x16x64xf32>
      %33 = stablehlo.add %31, %32 : tensor<2x16x64xf32>
      exec.yield %18, %33 : tensor<2x16x64xf32>, tensor<2x16x64xf32>
    }
    %14 = stablehlo.dot_general %13#1, %arg8, contracting_dims = [2] x [0] : (tensor<2x16x64xf32>, tensor<64x256xf32>) -> tensor<2x16x256xf32>
    %15 = exec.fusion "multiply_add_tanh"(%14) {reason = "over 2x16x256, 8 joins"} : (tensor<2x16x256xf32>) -> tensor<2x16x256xf32> {
    ^bb0(%arg11: tensor<2x16x256xf32>):
      %18 = stablehlo.multiply %arg11, %arg11 : tensor<2x16x256xf32>
      %19 = stablehlo.multiply %18, %arg11 : tensor<2x16x256xf32>
      %cst = stablehlo.constant dense<4.471500e-02> : tensor<f32>
      %20 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x16x256xf32>
      %21 = stablehlo.multiply %19, %20 : tensor<2x16x256xf32>
      %22 = stablehlo.add %arg11, %21 : tensor<2x16x256xf32>
      %cst_0 = stablehlo.constant dense<0.797884583> : tensor<f32>
      %23 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x16x256xf32>
      %24 = stablehlo.multiply %22, %23 : tensor<2x16x256xf32>
      %25 = stablehlo.tanh %24 : tensor<2x16x256xf32>
      %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %26 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x16x256xf32>
      %27 = stablehlo.add %25, %26 : tensor<2x16x256xf32>
      %cst_2 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
      %28 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x16x256xf32>
      %29 = stablehlo.multiply %27, %28 : tensor<2x16x256xf32>
      %30 = stablehlo.multiply %arg11, %29 : tensor<2x16x256xf32>
      exec.yield %30 : tensor<2x16x256xf32>
    }
    %16 = stablehlo.dot_general %15, %arg9, contracting_dims = [2] x [0] : (tensor<2x16x256xf32>, tensor<256x64xf32>) -> tensor<2x16x64xf32>
    %17 = exec.fusion "add"(%13#0, %16) {reason = "over 2x16x64, an op by itself"} : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32> {
    ^bb0(%arg11: tensor<2x16x64xf32>, %arg12: tensor<2x16x64xf32>):
      %18 = stablehlo.add %arg11, %arg12 : tensor<2x16x64xf32>
      exec.yield %18 : tensor<2x16x64xf32>
    }
    return %17 : tensor<2x16x64xf32>
  }
}

