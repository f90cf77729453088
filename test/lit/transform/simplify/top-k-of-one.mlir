// RUN: tilewright-opt %s --pass-pipeline='builtin.module(simplify-inline,func.func(simplify-canonicalize))' | FileCheck %s

/// The largest of one element is that element. It depends on no other device, however the operand is sharded.

// CHECK-LABEL: func.func public @main
//   CHECK-NOT:   stablehlo.sort
//   CHECK-NOT:   stablehlo.composite
//       CHECK:   return %arg0, %{{.*}} : tensor<3x1xf32>, tensor<3x1xi32>
module {
  func.func public @main(%x: tensor<3x1xf32>) -> (tensor<3x1xf32>, tensor<3x1xi32>) {
    %0:2 = stablehlo.composite "chlo.top_k" %x {composite_attributes = {k = 1 : i64}, decomposition = @impl, version = 1 : i32} : (tensor<3x1xf32>) -> (tensor<3x1xf32>, tensor<3x1xi32>)
    return %0#0, %0#1 : tensor<3x1xf32>, tensor<3x1xi32>
  }
  func.func private @impl(%x: tensor<3x1xf32>) -> (tensor<3x1xf32>, tensor<3x1xi32>) {
    %0 = stablehlo.iota dim = 1 : tensor<3x1xi32>
    %1:2 = "stablehlo.sort"(%x, %0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
      %2 = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }) : (tensor<3x1xf32>, tensor<3x1xi32>) -> (tensor<3x1xf32>, tensor<3x1xi32>)
    return %1#0, %1#1 : tensor<3x1xf32>, tensor<3x1xi32>
  }
}
