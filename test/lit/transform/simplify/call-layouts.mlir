// RUN: tilewright-opt %s --pass-pipeline='builtin.module(nvptx-attach-target,func.func(simplify-expand))' | FileCheck %s
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(cpu-attach-target,func.func(simplify-expand))' | FileCheck %s --check-prefix=CPU

/// Kernels transpose the buffers of a handler that asks for other layouts; tokens and row-major buffers stay. The library of a CPU reorders
/// them itself.

// CHECK-LABEL: func @main
//       CHECK:   %[[IN:.*]] = stablehlo.transpose %arg0, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
//       CHECK:   %[[CALL:.*]]:3 = stablehlo.custom_call @f(%[[IN]], %arg1, %{{.*}}) {{.*}}exec.transposed
//  CHECK-SAME:     : (tensor<4x2x3xf32>, tensor<5xi32>, !stablehlo.token) -> (tensor<7x6xf32>, tensor<6x7xf32>, !stablehlo.token)
//       CHECK:   %[[OUT:.*]] = stablehlo.transpose %[[CALL]]#0, dims = [1, 0] : (tensor<7x6xf32>) -> tensor<6x7xf32>
//       CHECK:   return %[[OUT]], %[[CALL]]#1
// CPU-LABEL: func @main
//   CPU-NOT:   stablehlo.transpose
//   CPU-NOT:   exec.transposed
func.func @main(%x: tensor<2x3x4xf32>, %n: tensor<5xi32>) -> (tensor<6x7xf32>, tensor<6x7xf32>) {
  %t = stablehlo.create_token : !stablehlo.token
  %y:3 = stablehlo.custom_call @f(%x, %n, %t) {
    api_version = 4 : i32, has_side_effect = true,
    operand_layouts = [dense<[1, 0, 2]> : tensor<3xindex>, dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>],
    result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<> : tensor<0xindex>]
  } : (tensor<2x3x4xf32>, tensor<5xi32>, !stablehlo.token) -> (tensor<6x7xf32>, tensor<6x7xf32>, !stablehlo.token)
  return %y#0, %y#1 : tensor<6x7xf32>, tensor<6x7xf32>
}
