// RUN: tilewright-opt %s --simplify --split-input-file --verify-diagnostics | FileCheck %s

/// A barrier keeps equal code apart, and is gone at the end.

// CHECK-LABEL: func @barrier
//       CHECK:   %[[A:.*]] = stablehlo.exponential %arg0
//       CHECK:   %[[B:.*]] = stablehlo.exponential %arg0
//       CHECK:   return %[[A]], %[[B]]
func.func @barrier(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.exponential %x : tensor<4xf32>
  %1 = stablehlo.optimization_barrier %x : tensor<4xf32>
  %2 = stablehlo.exponential %1 : tensor<4xf32>
  return %0, %2 : tensor<4xf32>, tensor<4xf32>
}

/// A constant that common subexpressions moved out of a body is put back in.

// CHECK-LABEL: func @closed_body
//       CHECK:   stablehlo.reduce
//       CHECK:     stablehlo.constant dense<2.000000e+00>
//       CHECK:     stablehlo.multiply
func.func @closed_body(%x: tensor<4xf32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %twice = stablehlo.multiply %y, %two : tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %z) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %c = stablehlo.constant dense<2.0> : tensor<f32>
    %m = stablehlo.multiply %b, %c : tensor<f32>
    %s = stablehlo.add %a, %m : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }
  return %twice, %r : tensor<f32>, tensor<f32>
}

// -----

// CHECK-LABEL: func.func @empty_selection
// CHECK-NEXT: %[[EMPTY:.*]] = stablehlo.constant dense<> : tensor<5x0xf32>
// CHECK-NEXT: return %[[EMPTY]]
func.func @empty_selection(%x: tensor<5x0xf32>, %i: tensor<0xi32>) -> tensor<5x0xf32> {
  %0 = "stablehlo.torch_index_select"(%x, %i) <{batch_dims = 0 : i64, dim = 1 : i64}> : (tensor<5x0xf32>, tensor<0xi32>) -> tensor<5x0xf32>
  return %0 : tensor<5x0xf32>
}

// -----

func.func @negative_dynamic(%n: tensor<1xi32>) -> tensor<?xi32> {
  // expected-error@+1 {{E2002 simplify: 'stablehlo.dynamic_iota' returns a tensor whose shape depends on values}}
  %0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}

// -----

/// The padding gives 3x10.
func.func @negative_other_shape(%x: tensor<1x7xf32>, %p: tensor<f32>) -> tensor<4x10xf32> {
  %low = stablehlo.constant dense<1> : tensor<2xi64>
  %high = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %none = stablehlo.constant dense<0> : tensor<2xi64>
  // expected-error@+1 {{E2002 simplify: 'stablehlo.dynamic_pad' takes sizes that are not constant, or that do not give the shape of its result}}
  %0 = stablehlo.dynamic_pad %x, %p, %low, %high, %none : (tensor<1x7xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

// -----

func.func @negative_nothing_to_select(%x: tensor<5x0xf32>, %i: tensor<3xi32>) -> tensor<5x3xf32> {
  // expected-error@+1 {{E2002 simplify: 'stablehlo.torch_index_select' selects from a dimension of size 0, in which no index is valid}}
  %0 = "stablehlo.torch_index_select"(%x, %i) <{batch_dims = 0 : i64, dim = 1 : i64}> : (tensor<5x0xf32>, tensor<3xi32>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

// -----

/// A manual computation of two devices in a program for one.
sdy.mesh @mesh = <["x"=2]>
func.func @negative_more_devices(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{E2002 simplify: 'sdy.manual_computation' needs more devices than the program has}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%p: tensor<2xf32>) {
    %1 = stablehlo.negate %p : tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
