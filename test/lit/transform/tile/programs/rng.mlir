// RUN: tilewright-opt %s --tile-fusions | FileCheck %s

/// A program of JAX after fusion; TileFusionsTest evaluates it before and after tiling.
// CHECK-NOT: exec.fusion

module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @empty_mesh = <[]> {stablehlo.mesh = {axes = []}}
  func.func public @main(%arg0: tensor<2xui32>) -> (tensor<100x70xf32>) {
    %0 = stablehlo.slice %arg0 [0:1] : (tensor<2xui32>) -> tensor<1xui32>
    %1 = stablehlo.reshape %0 : (tensor<1xui32>) -> tensor<ui32>
    %2 = stablehlo.slice %arg0 [1:2] : (tensor<2xui32>) -> tensor<1xui32>
    %3 = stablehlo.reshape %2 : (tensor<1xui32>) -> tensor<ui32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
    %c_1 = stablehlo.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
    %4 = exec.fusion "xor"(%arg0) {reason = "over 1, 1 join"} : (tensor<2xui32>) -> tensor<1xui32> {
    ^bb0(%arg1: tensor<2xui32>):
      %10 = stablehlo.slice %arg1 [1:2] : (tensor<2xui32>) -> tensor<1xui32>
      %11 = stablehlo.slice %arg1 [0:1] : (tensor<2xui32>) -> tensor<1xui32>
      %12 = stablehlo.xor %11, %10 : tensor<1xui32>
      %c_2 = stablehlo.constant dense<466688986> : tensor<1xui32>
      %13 = stablehlo.xor %12, %c_2 : tensor<1xui32>
      exec.yield %13 : tensor<1xui32>
    }
    %5 = stablehlo.reshape %4 : (tensor<1xui32>) -> tensor<ui32>
    %6 = exec.fusion "multiply_add_shift_right_logical_convert"(%arg0) {reason = "over 100x70"} : (tensor<2xui32>) -> tensor<100x70xui32> {
    ^bb0(%arg1: tensor<2xui32>):
      %10 = stablehlo.slice %arg1 [0:1] : (tensor<2xui32>) -> tensor<1xui32>
      %11 = stablehlo.reshape %10 : (tensor<1xui32>) -> tensor<ui32>
      %12 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<ui32>) -> tensor<100x70xui32>
      %c_2 = stablehlo.constant dense<32> : tensor<ui64>
      %13 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<ui64>) -> tensor<100x70xui64>
      %14 = stablehlo.iota dim = 1 : tensor<100x70xui64>
      %c_3 = stablehlo.constant dense<70> : tensor<ui64>
      %15 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<ui64>) -> tensor<100x70xui64>
      %16 = stablehlo.iota dim = 0 : tensor<100x70xui64>
      %17 = stablehlo.multiply %16, %15 : tensor<100x70xui64>
      %18 = stablehlo.add %17, %14 : tensor<100x70xui64>
      %19 = stablehlo.shift_right_logical %18, %13 : tensor<100x70xui64>
      %20 = stablehlo.convert %19 : (tensor<100x70xui64>) -> tensor<100x70xui32>
      %21 = stablehlo.add %20, %12 : tensor<100x70xui32>
      exec.yield %21 : tensor<100x70xui32>
    }
    %7 = exec.fusion "multiply_add_convert"(%arg0) {reason = "over 100x70"} : (tensor<2xui32>) -> tensor<100x70xui32> {
    ^bb0(%arg1: tensor<2xui32>):
      %10 = stablehlo.slice %arg1 [1:2] : (tensor<2xui32>) -> tensor<1xui32>
      %11 = stablehlo.reshape %10 : (tensor<1xui32>) -> tensor<ui32>
      %12 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<ui32>) -> tensor<100x70xui32>
      %13 = stablehlo.iota dim = 1 : tensor<100x70xui64>
      %c_2 = stablehlo.constant dense<70> : tensor<ui64>
      %14 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<ui64>) -> tensor<100x70xui64>
      %15 = stablehlo.iota dim = 0 : tensor<100x70xui64>
      %16 = stablehlo.multiply %15, %14 : tensor<100x70xui64>
      %17 = stablehlo.add %16, %13 : tensor<100x70xui64>
      %18 = stablehlo.convert %17 : (tensor<100x70xui64>) -> tensor<100x70xui32>
      %19 = stablehlo.add %18, %12 : tensor<100x70xui32>
      exec.yield %19 : tensor<100x70xui32>
    }
    %8:9 = stablehlo.while(%iterArg = %c, %iterArg_2 = %c, %iterArg_3 = %6, %iterArg_4 = %7, %iterArg_5 = %3, %iterArg_6 = %5, %iterArg_7 = %1, %iterArg_8 = %c_0, %iterArg_9 = %c_1) : tensor<i32>, tensor<i32>, tensor<100x70xui32>, tensor<100x70xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32> attributes {exec.trip_count = 5 : i64}
     cond {
      %10 = exec.fusion "compare"(%iterArg) {reason = "over a scalar"} : (tensor<i32>) -> tensor<i1> {
      ^bb0(%arg1: tensor<i32>):
        %c_10 = stablehlo.constant dense<5> : tensor<i32>
        %11 = stablehlo.compare  LT, %arg1, %c_10,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        exec.yield %11 : tensor<i1>
      }
      stablehlo.return %10 : tensor<i1>
    } do {
      %10 = exec.fusion "add"(%iterArg_2) {reason = "over a scalar"} : (tensor<i32>) -> tensor<i32> {
      ^bb0(%arg1: tensor<i32>):
        %c_10 = stablehlo.constant dense<1> : tensor<i32>
        %13 = stablehlo.add %arg1, %c_10 : tensor<i32>
        exec.yield %13 : tensor<i32>
      }
      %11:2 = exec.fusion "add_shift_left_xor_convert"(%iterArg_3, %iterArg_4, %iterArg_8, %iterArg_5, %iterArg_6, %10) {reason = "over 100x70, 26 joins"} : (tensor<100x70xui32>, tensor<100x70xui32>, tensor<4xui32>, tensor<ui32>, tensor<ui32>, tensor<i32>) -> (tensor<100x70xui32>, tensor<100x70xui32>) {
      ^bb0(%arg1: tensor<100x70xui32>, %arg2: tensor<100x70xui32>, %arg3: tensor<4xui32>, %arg4: tensor<ui32>, %arg5: tensor<ui32>, %arg6: tensor<i32>):
        %13 = stablehlo.add %arg1, %arg2 : tensor<100x70xui32>
        %14 = stablehlo.slice %arg3 [0:1] : (tensor<4xui32>) -> tensor<1xui32>
        %15 = stablehlo.reshape %14 : (tensor<1xui32>) -> tensor<ui32>
        %16 = stablehlo.broadcast_in_dim %15, dims = [] : (tensor<ui32>) -> tensor<100x70xui32>
        %17 = stablehlo.shift_left %arg2, %16 : tensor<100x70xui32>
        %c_10 = stablehlo.constant dense<32> : tensor<1xui32>
        %18 = stablehlo.subtract %c_10, %14 : tensor<1xui32>
        %19 = stablehlo.reshape %18 : (tensor<1xui32>) -> tensor<ui32>
        %20 = stablehlo.broadcast_in_dim %19, dims = [] : (tensor<ui32>) -> tensor<100x70xui32>
        %21 = stablehlo.shift_right_logical %arg2, %20 : tensor<100x70xui32>
        %22 = stablehlo.or %17, %21 : tensor<100x70xui32>
        %23 = stablehlo.xor %13, %22 : tensor<100x70xui32>
        %24 = stablehlo.add %13, %23 : tensor<100x70xui32>
        %25 = stablehlo.slice %arg3 [1:2] : (tensor<4xui32>) -> tensor<1xui32>
        %26 = stablehlo.reshape %25 : (tensor<1xui32>) -> tensor<ui32>
        %27 = stablehlo.broadcast_in_dim %26, dims = [] : (tensor<ui32>) -> tensor<100x70xui32>
        %28 = stablehlo.shift_left %23, %27 : tensor<100x70xui32>
        %29 = stablehlo.subtract %c_10, %25 : tensor<1xui32>
        %30 = stablehlo.reshape %29 : (tensor<1xui32>) -> tensor<ui32>
        %31 = stablehlo.broadcast_in_dim %30, dims = [] : (tensor<ui32>) -> tensor<100x70xui32>
        %32 = stablehlo.shift_right_logical %23, %31 : tensor<100x70xui32>
        %33 = stablehlo.or %28, %32 : tensor<100x70xui32>
        %34 = stablehlo.xor %24, %33 : tensor<100x70xui32>
        %35 = stablehlo.add %24, %34 : tensor<100x70xui32>
        %36 = stablehlo.slice %arg3 [2:3] : (tensor<4xui32>) -> tensor<1xui32>
        %37 = stablehlo.reshape %36 : (tensor<1xui32>) -> tensor<ui32>
        %38 = stablehlo.broadcast_in_dim %37, dims = [] : (tensor<ui32>) -> tensor<100x70xui32>
        %39 = stablehlo.shift_left %34, %38 : tensor<100x70xui32>
        %40 = stablehlo.subtract %c_10, %36 : tensor<1xui32>
        %41 = stablehlo.reshape %40 : (tensor<1xui32>) -> tensor<ui32>
        %42 = stablehlo.broadcast_in_dim %41, dims = [] : (tensor<ui32>) -> tensor<100x70xui32>
        %43 = stablehlo.shift_right_logical %34, %42 : tensor<100x70xui32>
        %44 = stablehlo.or %39, %43 : tensor<100x70xui32>
        %45 = stablehlo.xor %35, %44 : tensor<100x70xui32>
        %46 = stablehlo.add %35, %45 : tensor<100x70xui32>
        %47 = stablehlo.slice %arg3 [3:4] : (tensor<4xui32>) -> tensor<1xui32>
        %48 = stablehlo.reshape %47 : (tensor<1xui32>) -> tensor<ui32>
        %49 = stablehlo.broadcast_in_dim %48, dims = [] : (tensor<ui32>) -> tensor<100x70xui32>
        %50 = stablehlo.shift_left %45, %49 : tensor<100x70xui32>
        %51 = stablehlo.subtract %c_10, %47 : tensor<1xui32>
        %52 = stablehlo.reshape %51 : (tensor<1xui32>) -> tensor<ui32>
        %53 = stablehlo.broadcast_in_dim %52, dims = [] : (tensor<ui32>) -> tensor<100x70xui32>
        %54 = stablehlo.shift_right_logical %45, %53 : tensor<100x70xui32>
        %55 = stablehlo.or %50, %54 : tensor<100x70xui32>
        %56 = stablehlo.xor %46, %55 : tensor<100x70xui32>
        %57 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<ui32>) -> tensor<100x70xui32>
        %58 = stablehlo.add %46, %57 : tensor<100x70xui32>
        %59 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<ui32>) -> tensor<100x70xui32>
        %60 = stablehlo.add %56, %59 : tensor<100x70xui32>
        %61 = stablehlo.convert %arg6 : (tensor<i32>) -> tensor<ui32>
        %62 = stablehlo.broadcast_in_dim %61, dims = [] : (tensor<ui32>) -> tensor<100x70xui32>
        %63 = stablehlo.add %60, %62 : tensor<100x70xui32>
        exec.yield %58, %63 : tensor<100x70xui32>, tensor<100x70xui32>
      }
      %12 = exec.fusion "add"(%iterArg) {reason = "over a scalar"} : (tensor<i32>) -> tensor<i32> {
      ^bb0(%arg1: tensor<i32>):
        %c_10 = stablehlo.constant dense<1> : tensor<i32>
        %13 = stablehlo.add %arg1, %c_10 : tensor<i32>
        exec.yield %13 : tensor<i32>
      }
      stablehlo.return %12, %10, %11#0, %11#1, %iterArg_6, %iterArg_7, %iterArg_5, %iterArg_9, %iterArg_8 : tensor<i32>, tensor<i32>, tensor<100x70xui32>, tensor<100x70xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
    }
    %9 = exec.fusion "xor_shift_right_logical_select_abs"(%8#2, %8#3) {reason = "over 100x70, 47 joins"} : (tensor<100x70xui32>, tensor<100x70xui32>) -> tensor<100x70xf32> {
    ^bb0(%arg1: tensor<100x70xui32>, %arg2: tensor<100x70xui32>):
      %10 = stablehlo.xor %arg1, %arg2 : tensor<100x70xui32>
      %c_2 = stablehlo.constant dense<9> : tensor<ui32>
      %11 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<ui32>) -> tensor<100x70xui32>
      %12 = stablehlo.shift_right_logical %10, %11 : tensor<100x70xui32>
      %c_3 = stablehlo.constant dense<1065353216> : tensor<ui32>
      %13 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<ui32>) -> tensor<100x70xui32>
      %14 = stablehlo.or %12, %13 : tensor<100x70xui32>
      %15 = stablehlo.bitcast_convert %14 : (tensor<100x70xui32>) -> tensor<100x70xf32>
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %16 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %17 = stablehlo.subtract %15, %16 : tensor<100x70xf32>
      %cst_4 = stablehlo.constant dense<2.000000e+00> : tensor<1x1xf32>
      %18 = stablehlo.broadcast_in_dim %cst_4, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<100x70xf32>
      %19 = stablehlo.multiply %17, %18 : tensor<100x70xf32>
      %cst_5 = stablehlo.constant dense<-0.99999994> : tensor<1x1xf32>
      %20 = stablehlo.broadcast_in_dim %cst_5, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<100x70xf32>
      %21 = stablehlo.add %19, %20 : tensor<100x70xf32>
      %22 = stablehlo.maximum %21, %20 : tensor<100x70xf32>
      %23 = stablehlo.negate %22 : tensor<100x70xf32>
      %24 = stablehlo.multiply %22, %23 : tensor<100x70xf32>
      %25 = stablehlo.log_plus_one %24 : tensor<100x70xf32>
      %26 = stablehlo.negate %25 : tensor<100x70xf32>
      %cst_6 = stablehlo.constant dense<5.000000e+00> : tensor<f32>
      %27 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %28 = stablehlo.compare  LT, %26, %27 : (tensor<100x70xf32>, tensor<100x70xf32>) -> tensor<100x70xi1>
      %cst_7 = stablehlo.constant dense<2.500000e+00> : tensor<f32>
      %29 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %30 = stablehlo.subtract %26, %29 : tensor<100x70xf32>
      %31 = stablehlo.sqrt %26 : tensor<100x70xf32>
      %cst_8 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
      %32 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %33 = stablehlo.subtract %31, %32 : tensor<100x70xf32>
      %34 = stablehlo.select %28, %30, %33 : tensor<100x70xi1>, tensor<100x70xf32>
      %cst_9 = stablehlo.constant dense<-2.00214257E-4> : tensor<f32>
      %35 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %cst_10 = stablehlo.constant dense<2.81022636E-8> : tensor<f32>
      %36 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %37 = stablehlo.select %28, %36, %35 : tensor<100x70xi1>, tensor<100x70xf32>
      %cst_11 = stablehlo.constant dense<1.00950558E-4> : tensor<f32>
      %38 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %cst_12 = stablehlo.constant dense<3.43273939E-7> : tensor<f32>
      %39 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %40 = stablehlo.select %28, %39, %38 : tensor<100x70xi1>, tensor<100x70xf32>
      %41 = stablehlo.multiply %37, %34 : tensor<100x70xf32>
      %42 = stablehlo.add %40, %41 : tensor<100x70xf32>
      %cst_13 = stablehlo.constant dense<0.00134934322> : tensor<f32>
      %43 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %cst_14 = stablehlo.constant dense<-3.5233877E-6> : tensor<f32>
      %44 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %45 = stablehlo.select %28, %44, %43 : tensor<100x70xi1>, tensor<100x70xf32>
      %46 = stablehlo.multiply %42, %34 : tensor<100x70xf32>
      %47 = stablehlo.add %45, %46 : tensor<100x70xf32>
      %cst_15 = stablehlo.constant dense<-0.00367342844> : tensor<f32>
      %48 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %cst_16 = stablehlo.constant dense<-4.39150654E-6> : tensor<f32>
      %49 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %50 = stablehlo.select %28, %49, %48 : tensor<100x70xi1>, tensor<100x70xf32>
      %51 = stablehlo.multiply %47, %34 : tensor<100x70xf32>
      %52 = stablehlo.add %50, %51 : tensor<100x70xf32>
      %cst_17 = stablehlo.constant dense<0.00573950773> : tensor<f32>
      %53 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %cst_18 = stablehlo.constant dense<2.1858087E-4> : tensor<f32>
      %54 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %55 = stablehlo.select %28, %54, %53 : tensor<100x70xi1>, tensor<100x70xf32>
      %56 = stablehlo.multiply %52, %34 : tensor<100x70xf32>
      %57 = stablehlo.add %55, %56 : tensor<100x70xf32>
      %cst_19 = stablehlo.constant dense<-0.0076224613> : tensor<f32>
      %58 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %cst_20 = stablehlo.constant dense<-0.00125372503> : tensor<f32>
      %59 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %60 = stablehlo.select %28, %59, %58 : tensor<100x70xi1>, tensor<100x70xf32>
      %61 = stablehlo.multiply %57, %34 : tensor<100x70xf32>
      %62 = stablehlo.add %60, %61 : tensor<100x70xf32>
      %cst_21 = stablehlo.constant dense<0.00943887047> : tensor<f32>
      %63 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %cst_22 = stablehlo.constant dense<-0.00417768164> : tensor<f32>
      %64 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %65 = stablehlo.select %28, %64, %63 : tensor<100x70xi1>, tensor<100x70xf32>
      %66 = stablehlo.multiply %62, %34 : tensor<100x70xf32>
      %67 = stablehlo.add %65, %66 : tensor<100x70xf32>
      %cst_23 = stablehlo.constant dense<1.00167406> : tensor<f32>
      %68 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %cst_24 = stablehlo.constant dense<0.246640727> : tensor<f32>
      %69 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %70 = stablehlo.select %28, %69, %68 : tensor<100x70xi1>, tensor<100x70xf32>
      %71 = stablehlo.multiply %67, %34 : tensor<100x70xf32>
      %72 = stablehlo.add %70, %71 : tensor<100x70xf32>
      %cst_25 = stablehlo.constant dense<2.83297682> : tensor<f32>
      %73 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %cst_26 = stablehlo.constant dense<1.50140941> : tensor<f32>
      %74 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %75 = stablehlo.select %28, %74, %73 : tensor<100x70xi1>, tensor<100x70xf32>
      %76 = stablehlo.multiply %72, %34 : tensor<100x70xf32>
      %77 = stablehlo.add %75, %76 : tensor<100x70xf32>
      %78 = stablehlo.multiply %77, %22 : tensor<100x70xf32>
      %79 = stablehlo.abs %22 : tensor<100x70xf32>
      %80 = stablehlo.compare  EQ, %79, %16 : (tensor<100x70xf32>, tensor<100x70xf32>) -> tensor<100x70xi1>
      %cst_27 = stablehlo.constant dense<0x7F800000> : tensor<f32>
      %81 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %82 = stablehlo.multiply %22, %81 : tensor<100x70xf32>
      %83 = stablehlo.select %80, %82, %78 : tensor<100x70xi1>, tensor<100x70xf32>
      %cst_28 = stablehlo.constant dense<1.41421354> : tensor<f32>
      %84 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<100x70xf32>
      %85 = stablehlo.multiply %83, %84 : tensor<100x70xf32>
      exec.yield %85 : tensor<100x70xf32>
    }
    return %9 : tensor<100x70xf32>
  }
}

