// RUN: tilewright-opt %s --mlir-print-op-generic | FileCheck %s
// RUN: tilewright-opt %s | tilewright-opt --mlir-print-op-generic | FileCheck %s

/// Computations of scalars applied to tensors.
// CHECK-LABEL: sym_name = "reductions"
func.func @reductions(%v: tensor<4xf32>, %m: tensor<2x3xf32>, %s: tensor<f32>, %w: tensor<2xf32>) {
  // CHECK: "stablehlo.map"(%{{.*}}, %{{.*}}) <{dimensions = array<i64: 0>}> ({
  %0 = "stablehlo.map"(%v, %v) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    // CHECK: "stablehlo.add"(%{{.*}}, %{{.*}}) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %sum = "stablehlo.add"(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    // CHECK: "stablehlo.return"(%{{.*}}) : (tensor<f32>) -> ()
    "stablehlo.return"(%sum) : (tensor<f32>) -> ()
  // CHECK: }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.reduce"(%{{.*}}, %{{.*}}) <{dimensions = array<i64: 1>}> ({
  %1 = "stablehlo.reduce"(%m, %s) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    // CHECK: "stablehlo.add"(%{{.*}}, %{{.*}}) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %sum = "stablehlo.add"(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    // CHECK: "stablehlo.return"(%{{.*}}) : (tensor<f32>) -> ()
    "stablehlo.return"(%sum) : (tensor<f32>) -> ()
  // CHECK: }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  // CHECK: "stablehlo.reduce_window"(%{{.*}}, %{{.*}}) <{base_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  %2 = "stablehlo.reduce_window"(%v, %s) <{base_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    // CHECK: "stablehlo.add"(%{{.*}}, %{{.*}}) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %sum = "stablehlo.add"(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    // CHECK: "stablehlo.return"(%{{.*}}) : (tensor<f32>) -> ()
    "stablehlo.return"(%sum) : (tensor<f32>) -> ()
  // CHECK: }) : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
  // CHECK: "stablehlo.select_and_scatter"(%{{.*}}, %{{.*}}, %{{.*}}) <{padding = dense<0> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  %3 = "stablehlo.select_and_scatter"(%v, %w, %s) <{padding = dense<0> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    // CHECK: "stablehlo.compare"(%{{.*}}, %{{.*}}) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %wins = "stablehlo.compare"(%x, %y) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    // CHECK: "stablehlo.return"(%{{.*}}) : (tensor<i1>) -> ()
    "stablehlo.return"(%wins) : (tensor<i1>) -> ()
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    // CHECK: "stablehlo.add"(%{{.*}}, %{{.*}}) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %sum = "stablehlo.add"(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    // CHECK: "stablehlo.return"(%{{.*}}) : (tensor<f32>) -> ()
    "stablehlo.return"(%sum) : (tensor<f32>) -> ()
  // CHECK: }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: "stablehlo.sort"(%{{.*}}) <{dimension = 0 : i64, is_stable = true}> ({
  %4 = "stablehlo.sort"(%v) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    // CHECK: "stablehlo.compare"(%{{.*}}, %{{.*}}) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %wins = "stablehlo.compare"(%x, %y) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    // CHECK: "stablehlo.return"(%{{.*}}) : (tensor<i1>) -> ()
    "stablehlo.return"(%wins) : (tensor<i1>) -> ()
  // CHECK: }) : (tensor<4xf32>) -> tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
