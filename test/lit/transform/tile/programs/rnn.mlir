// RUN: tilewright-opt %s --tile-fusions | FileCheck %s

/// A program of JAX after fusion; TileFusionsTest evaluates it before and after tiling.
// CHECK-NOT: exec.fusion

module @jit_rnn attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<32x32xf32>, %arg1: tensor<16x32xf32>, %arg2: tensor<10x8x16xf32>) -> (tensor<32x32xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<8x32xf32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<10x8x32xf32>
    %1:6 = stablehlo.while(%iterArg = %c, %iterArg_1 = %cst_0, %iterArg_2 = %0, %iterArg_3 = %0, %iterArg_4 = %0, %iterArg_5 = %0) : tensor<i32>, tensor<8x32xf32>, tensor<10x8x32xf32>, tensor<10x8x32xf32>, tensor<10x8x32xf32>, tensor<10x8x32xf32> attributes {exec.trip_count = 10 : i64}
     cond {
      %5 = exec.fusion "compare"(%iterArg) {reason = "over a scalar"} : (tensor<i32>) -> tensor<i1> {
      ^bb0(%arg3: tensor<i32>):
        %c_6 = stablehlo.constant dense<10> : tensor<i32>
        %6 = stablehlo.compare  LT, %arg3, %c_6,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        exec.yield %6 : tensor<i1>
      }
      stablehlo.return %5 : tensor<i1>
    } do {
      %5 = stablehlo.dynamic_slice %arg2, %iterArg, %c, %c, sizes = [1, 8, 16] : (tensor<10x8x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x16xf32>
      %6 = stablehlo.reshape %5 : (tensor<1x8x16xf32>) -> tensor<8x16xf32>
      %7 = stablehlo.dot_general %iterArg_1, %arg0, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x32xf32>) -> tensor<8x32xf32>
      %8 = stablehlo.dot_general %6, %arg1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
      %9:2 = exec.fusion "add_tanh_subtract"(%7, %8) {reason = "over 8x32, 2 joins"} : (tensor<8x32xf32>, tensor<8x32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>) {
      ^bb0(%arg3: tensor<8x32xf32>, %arg4: tensor<8x32xf32>):
        %18 = stablehlo.add %arg3, %arg4 : tensor<8x32xf32>
        %19 = stablehlo.tanh %18 : tensor<8x32xf32>
        %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<8x32xf32>
        %20 = stablehlo.subtract %cst_6, %19 : tensor<8x32xf32>
        exec.yield %19, %20 : tensor<8x32xf32>, tensor<8x32xf32>
      }
      %10 = stablehlo.reshape %9#0 : (tensor<8x32xf32>) -> tensor<1x8x32xf32>
      %11 = stablehlo.dynamic_update_slice %iterArg_2, %10, %iterArg, %c, %c : (tensor<10x8x32xf32>, tensor<1x8x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<10x8x32xf32>
      %12 = stablehlo.reshape %iterArg_1 : (tensor<8x32xf32>) -> tensor<1x8x32xf32>
      %13 = stablehlo.dynamic_update_slice %iterArg_3, %12, %iterArg, %c, %c : (tensor<10x8x32xf32>, tensor<1x8x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<10x8x32xf32>
      %14 = stablehlo.dynamic_update_slice %iterArg_4, %10, %iterArg, %c, %c : (tensor<10x8x32xf32>, tensor<1x8x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<10x8x32xf32>
      %15 = stablehlo.reshape %9#1 : (tensor<8x32xf32>) -> tensor<1x8x32xf32>
      %16 = stablehlo.dynamic_update_slice %iterArg_5, %15, %iterArg, %c, %c : (tensor<10x8x32xf32>, tensor<1x8x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<10x8x32xf32>
      %17 = exec.fusion "add"(%iterArg) {reason = "over a scalar"} : (tensor<i32>) -> tensor<i32> {
      ^bb0(%arg3: tensor<i32>):
        %c_6 = stablehlo.constant dense<1> : tensor<i32>
        %18 = stablehlo.add %arg3, %c_6 : tensor<i32>
        exec.yield %18 : tensor<i32>
      }
      stablehlo.return %17, %9#0, %11, %13, %14, %16 : tensor<i32>, tensor<8x32xf32>, tensor<10x8x32xf32>, tensor<10x8x32xf32>, tensor<10x8x32xf32>, tensor<10x8x32xf32>
    }
    %2 = exec.fusion "multiply"(%1#2) {reason = "over 10x8x32"} : (tensor<10x8x32xf32>) -> tensor<10x8x32xf32> {
    ^bb0(%arg3: tensor<10x8x32xf32>):
      %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<10x8x32xf32>
      %6 = stablehlo.multiply %arg3, %5 : tensor<10x8x32xf32>
      exec.yield %6 : tensor<10x8x32xf32>
    }
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %4:3 = stablehlo.while(%iterArg = %c, %iterArg_1 = %3, %iterArg_2 = %cst_0) : tensor<i32>, tensor<32x32xf32>, tensor<8x32xf32> attributes {exec.trip_count = 10 : i64}
     cond {
      %5 = exec.fusion "compare"(%iterArg) {reason = "over a scalar"} : (tensor<i32>) -> tensor<i1> {
      ^bb0(%arg3: tensor<i32>):
        %c_3 = stablehlo.constant dense<10> : tensor<i32>
        %6 = stablehlo.compare  LT, %arg3, %c_3,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        exec.yield %6 : tensor<i1>
      }
      stablehlo.return %5 : tensor<i1>
    } do {
      %5 = exec.fusion "subtract"(%iterArg) {reason = "over a scalar, 1 join"} : (tensor<i32>) -> tensor<i32> {
      ^bb0(%arg3: tensor<i32>):
        %c_3 = stablehlo.constant dense<10> : tensor<i32>
        %13 = stablehlo.subtract %c_3, %arg3 : tensor<i32>
        %c_4 = stablehlo.constant dense<1> : tensor<i32>
        %14 = stablehlo.subtract %13, %c_4 : tensor<i32>
        exec.yield %14 : tensor<i32>
      }
      %6 = stablehlo.dynamic_slice %1#3, %5, %c, %c, sizes = [1, 8, 32] : (tensor<10x8x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x32xf32>
      %7 = stablehlo.reshape %6 : (tensor<1x8x32xf32>) -> tensor<8x32xf32>
      %8 = exec.fusion "add_multiply"(%iterArg_2, %2, %5, %1#5, %1#4) {reason = "over 8x32, 3 joins"} : (tensor<8x32xf32>, tensor<10x8x32xf32>, tensor<i32>, tensor<10x8x32xf32>, tensor<10x8x32xf32>) -> tensor<8x32xf32> {
      ^bb0(%arg3: tensor<8x32xf32>, %arg4: tensor<10x8x32xf32>, %arg5: tensor<i32>, %arg6: tensor<10x8x32xf32>, %arg7: tensor<10x8x32xf32>):
        %c_3 = stablehlo.constant dense<0> : tensor<i32>
        %13 = stablehlo.dynamic_slice %arg4, %arg5, %c_3, %c_3, sizes = [1, 8, 32] : (tensor<10x8x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x32xf32>
        %14 = stablehlo.reshape %13 : (tensor<1x8x32xf32>) -> tensor<8x32xf32>
        %15 = stablehlo.add %arg3, %14 : tensor<8x32xf32>
        %16 = stablehlo.dynamic_slice %arg6, %arg5, %c_3, %c_3, sizes = [1, 8, 32] : (tensor<10x8x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x32xf32>
        %17 = stablehlo.reshape %16 : (tensor<1x8x32xf32>) -> tensor<8x32xf32>
        %18 = stablehlo.multiply %15, %17 : tensor<8x32xf32>
        %19 = stablehlo.dynamic_slice %arg7, %arg5, %c_3, %c_3, sizes = [1, 8, 32] : (tensor<10x8x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x32xf32>
        %20 = stablehlo.reshape %19 : (tensor<1x8x32xf32>) -> tensor<8x32xf32>
        %21 = stablehlo.multiply %18, %20 : tensor<8x32xf32>
        %22 = stablehlo.add %18, %21 : tensor<8x32xf32>
        exec.yield %22 : tensor<8x32xf32>
      }
      %9 = stablehlo.dot_general %7, %8, contracting_dims = [0] x [0] : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<32x32xf32>
      %10 = exec.fusion "add"(%iterArg_1, %9) {reason = "over 32x32, an op by itself"} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32> {
      ^bb0(%arg3: tensor<32x32xf32>, %arg4: tensor<32x32xf32>):
        %13 = stablehlo.add %arg3, %arg4 : tensor<32x32xf32>
        exec.yield %13 : tensor<32x32xf32>
      }
      %11 = stablehlo.dot_general %8, %arg0, contracting_dims = [1] x [1] : (tensor<8x32xf32>, tensor<32x32xf32>) -> tensor<8x32xf32>
      %12 = exec.fusion "add"(%iterArg) {reason = "over a scalar"} : (tensor<i32>) -> tensor<i32> {
      ^bb0(%arg3: tensor<i32>):
        %c_3 = stablehlo.constant dense<1> : tensor<i32>
        %13 = stablehlo.add %arg3, %c_3 : tensor<i32>
        exec.yield %13 : tensor<i32>
      }
      stablehlo.return %12, %10, %11 : tensor<i32>, tensor<32x32xf32>, tensor<8x32xf32>
    }
    return %4#1 : tensor<32x32xf32>
  }
}

