// RUN: tilewright-opt %s --tile-fusions | FileCheck %s

/// A program of JAX after fusion; TileFusionsTest evaluates it before and after tiling.
// CHECK-NOT: exec.fusion

module @jit_mlp attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x128xf32>, %arg1: tensor<128xf32>, %arg2: tensor<128x10xf32>, %arg3: tensor<10xf32>, %arg4: tensor<32x64xf32>, %arg5: tensor<32xi32>) -> (tensor<64x128xf32>, tensor<128xf32>, tensor<128x10xf32>, tensor<10xf32>) {
    %0 = stablehlo.dot_general %arg4, %arg0, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x128xf32>) -> tensor<32x128xf32>
    %1:6 = exec.fusion "add_multiply_tanh_subtract"(%0, %arg1) {reason = "over 32x128, 11 joins"} : (tensor<32x128xf32>, tensor<128xf32>) -> (tensor<32x128xf32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<32x128xf32>) {
    ^bb0(%arg6: tensor<32x128xf32>, %arg7: tensor<128xf32>):
      %11 = stablehlo.broadcast_in_dim %arg7, dims = [1] : (tensor<128xf32>) -> tensor<32x128xf32>
      %12 = stablehlo.add %arg6, %11 : tensor<32x128xf32>
      %13 = stablehlo.multiply %12, %12 : tensor<32x128xf32>
      %14 = stablehlo.multiply %13, %12 : tensor<32x128xf32>
      %cst = stablehlo.constant dense<3.000000e+00> : tensor<f32>
      %15 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
      %16 = stablehlo.multiply %13, %15 : tensor<32x128xf32>
      %cst_0 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
      %17 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
      %18 = stablehlo.multiply %14, %17 : tensor<32x128xf32>
      %19 = stablehlo.add %12, %18 : tensor<32x128xf32>
      %cst_1 = stablehlo.constant dense<0.797884583> : tensor<f32>
      %20 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
      %21 = stablehlo.multiply %19, %20 : tensor<32x128xf32>
      %22 = stablehlo.tanh %21 : tensor<32x128xf32>
      %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %23 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
      %24 = stablehlo.subtract %23, %22 : tensor<32x128xf32>
      %25 = stablehlo.add %22, %23 : tensor<32x128xf32>
      %cst_3 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
      %26 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
      %27 = stablehlo.multiply %25, %26 : tensor<32x128xf32>
      %28 = stablehlo.multiply %12, %27 : tensor<32x128xf32>
      exec.yield %12, %16, %22, %24, %27, %28 : tensor<32x128xf32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<32x128xf32>
    }
    %2 = stablehlo.dot_general %1#5, %arg2, contracting_dims = [1] x [0] : (tensor<32x128xf32>, tensor<128x10xf32>) -> tensor<32x10xf32>
    %3 = exec.fusion "add_reduce_negate_divide"(%2, %arg3, %arg5) {reason = "over 32x10 reduced over [1], 12 joins"} : (tensor<32x10xf32>, tensor<10xf32>, tensor<32xi32>) -> tensor<32x10xf32> {
    ^bb0(%arg6: tensor<32x10xf32>, %arg7: tensor<10xf32>, %arg8: tensor<32xi32>):
      %11 = stablehlo.broadcast_in_dim %arg7, dims = [1] : (tensor<10xf32>) -> tensor<32x10xf32>
      %12 = stablehlo.add %arg6, %11 : tensor<32x10xf32>
      %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %13 = stablehlo.reduce(%12 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<32x10xf32>, tensor<f32>) -> tensor<32xf32>
      %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<32xf32>
      %14 = stablehlo.maximum %13, %cst_0 : tensor<32xf32>
      %15 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<32xf32>) -> tensor<32x10xf32>
      %16 = stablehlo.subtract %12, %15 : tensor<32x10xf32>
      %17 = stablehlo.exponential %16 : tensor<32x10xf32>
      %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %18 = stablehlo.reduce(%17 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<32x10xf32>, tensor<f32>) -> tensor<32xf32>
      %19 = stablehlo.iota dim = 1 : tensor<1x10xi32>
      %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1] : (tensor<1x10xi32>) -> tensor<32x10xi32>
      %21 = stablehlo.broadcast_in_dim %arg8, dims = [0] : (tensor<32xi32>) -> tensor<32x10xi32>
      %22 = stablehlo.compare  EQ, %21, %20,  SIGNED : (tensor<32x10xi32>, tensor<32x10xi32>) -> tensor<32x10xi1>
      %cst_2 = stablehlo.constant dense<-3.125000e-02> : tensor<32xf32>
      %23 = stablehlo.broadcast_in_dim %cst_2, dims = [0] : (tensor<32xf32>) -> tensor<32x10xf32>
      %24 = stablehlo.convert %22 : (tensor<32x10xi1>) -> tensor<32x10xf32>
      %25 = stablehlo.multiply %24, %23 : tensor<32x10xf32>
      %26 = stablehlo.negate %25 : tensor<32x10xf32>
      %27 = stablehlo.reduce(%26 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<32x10xf32>, tensor<f32>) -> tensor<32xf32>
      %28 = stablehlo.divide %27, %18 : tensor<32xf32>
      %29 = stablehlo.broadcast_in_dim %28, dims = [0] : (tensor<32xf32>) -> tensor<32x10xf32>
      %30 = stablehlo.multiply %29, %17 : tensor<32x10xf32>
      %31 = stablehlo.add %25, %30 : tensor<32x10xf32>
      exec.yield %31 : tensor<32x10xf32>
    }
    %4 = stablehlo.dot_general %1#5, %3, contracting_dims = [0] x [0] : (tensor<32x128xf32>, tensor<32x10xf32>) -> tensor<128x10xf32>
    %5 = stablehlo.dot_general %3, %arg2, contracting_dims = [1] x [1] : (tensor<32x10xf32>, tensor<128x10xf32>) -> tensor<32x128xf32>
    %6:2 = exec.fusion "multiply_add_reduce_subtract"(%1#0, %5, %1#4, %1#3, %1#2, %1#1, %arg1) {reason = "over 32x128 reduced over [0], 13 joins"} : (tensor<32x128xf32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<128xf32>) -> (tensor<32x128xf32>, tensor<128xf32>) {
    ^bb0(%arg6: tensor<32x128xf32>, %arg7: tensor<32x128xf32>, %arg8: tensor<32x128xf32>, %arg9: tensor<32x128xf32>, %arg10: tensor<32x128xf32>, %arg11: tensor<32x128xf32>, %arg12: tensor<128xf32>):
      %11 = stablehlo.multiply %arg6, %arg7 : tensor<32x128xf32>
      %12 = stablehlo.multiply %arg7, %arg8 : tensor<32x128xf32>
      %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
      %13 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
      %14 = stablehlo.multiply %11, %13 : tensor<32x128xf32>
      %15 = stablehlo.multiply %14, %arg9 : tensor<32x128xf32>
      %16 = stablehlo.multiply %15, %arg10 : tensor<32x128xf32>
      %17 = stablehlo.add %15, %16 : tensor<32x128xf32>
      %cst_0 = stablehlo.constant dense<0.797884583> : tensor<f32>
      %18 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
      %19 = stablehlo.multiply %17, %18 : tensor<32x128xf32>
      %20 = stablehlo.add %12, %19 : tensor<32x128xf32>
      %cst_1 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
      %21 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
      %22 = stablehlo.multiply %19, %21 : tensor<32x128xf32>
      %23 = stablehlo.multiply %22, %arg11 : tensor<32x128xf32>
      %24 = stablehlo.add %20, %23 : tensor<32x128xf32>
      %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %25 = stablehlo.reduce(%24 init: %cst_2) applies stablehlo.add across dimensions = [0] : (tensor<32x128xf32>, tensor<f32>) -> tensor<128xf32>
      %cst_3 = stablehlo.constant dense<1.000000e-03> : tensor<128xf32>
      %26 = stablehlo.multiply %25, %cst_3 : tensor<128xf32>
      %27 = stablehlo.subtract %arg12, %26 : tensor<128xf32>
      exec.yield %24, %27 : tensor<32x128xf32>, tensor<128xf32>
    }
    %7 = stablehlo.dot_general %arg4, %6#0, contracting_dims = [0] x [0] : (tensor<32x64xf32>, tensor<32x128xf32>) -> tensor<64x128xf32>
    %8 = exec.fusion "multiply_subtract"(%7, %arg0) {reason = "over 64x128, 1 join"} : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32> {
    ^bb0(%arg6: tensor<64x128xf32>, %arg7: tensor<64x128xf32>):
      %cst = stablehlo.constant dense<1.000000e-03> : tensor<f32>
      %11 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x128xf32>
      %12 = stablehlo.multiply %arg6, %11 : tensor<64x128xf32>
      %13 = stablehlo.subtract %arg7, %12 : tensor<64x128xf32>
      exec.yield %13 : tensor<64x128xf32>
    }
    %9 = exec.fusion "multiply_subtract"(%4, %arg2) {reason = "over 128x10, 1 join"} : (tensor<128x10xf32>, tensor<128x10xf32>) -> tensor<128x10xf32> {
    ^bb0(%arg6: tensor<128x10xf32>, %arg7: tensor<128x10xf32>):
      %cst = stablehlo.constant dense<1.000000e-03> : tensor<f32>
      %11 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<128x10xf32>
      %12 = stablehlo.multiply %arg6, %11 : tensor<128x10xf32>
      %13 = stablehlo.subtract %arg7, %12 : tensor<128x10xf32>
      exec.yield %13 : tensor<128x10xf32>
    }
    %10 = exec.fusion "reduce_multiply_subtract"(%3, %arg3) {reason = "over 32x10 reduced over [0], 2 joins"} : (tensor<32x10xf32>, tensor<10xf32>) -> tensor<10xf32> {
    ^bb0(%arg6: tensor<32x10xf32>, %arg7: tensor<10xf32>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %11 = stablehlo.reduce(%arg6 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<32x10xf32>, tensor<f32>) -> tensor<10xf32>
      %cst_0 = stablehlo.constant dense<1.000000e-03> : tensor<10xf32>
      %12 = stablehlo.multiply %11, %cst_0 : tensor<10xf32>
      %13 = stablehlo.subtract %arg7, %12 : tensor<10xf32>
      exec.yield %13 : tensor<10xf32>
    }
    return %8, %6#1, %9, %10 : tensor<64x128xf32>, tensor<128xf32>, tensor<128x10xf32>, tensor<10xf32>
  }
}

