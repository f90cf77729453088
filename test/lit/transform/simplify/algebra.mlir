// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(simplify-canonicalize))' | FileCheck %s

// CHECK-LABEL: func @identities
//  CHECK-NEXT:   return %arg0, %arg1, %arg0, %arg0
func.func @identities(%x: tensor<4xf32>, %i: tensor<4xi32>)
    -> (tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %zero = stablehlo.constant dense<0> : tensor<4xi32>
  %nil = stablehlo.constant dense<0.0> : tensor<4xf32>
  %0 = stablehlo.multiply %one, %x : tensor<4xf32>
  %1 = stablehlo.add %i, %zero : tensor<4xi32>
  %2 = stablehlo.subtract %x, %nil : tensor<4xf32>
  %3 = stablehlo.negate %x : tensor<4xf32>
  %4 = stablehlo.negate %3 : tensor<4xf32>
  return %0, %1, %2, %4 : tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>
}

/// -0.0 + 0.0 is 0.0, and NaN - NaN is not 0.

// CHECK-LABEL: func @negative_not_exact
//       CHECK:   stablehlo.add
//       CHECK:   stablehlo.subtract
//       CHECK:   stablehlo.multiply
func.func @negative_not_exact(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
  %0 = stablehlo.add %x, %zero : tensor<4xf32>
  %1 = stablehlo.subtract %x, %x : tensor<4xf32>
  %2 = stablehlo.multiply %x, %zero : tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

/// A power of two has an exact inverse; 3 has not.

// CHECK-LABEL: func @divisions
//   CHECK-DAG:   %[[Q:.*]] = stablehlo.constant dense<2.500000e-01>
//   CHECK-DAG:   stablehlo.multiply %arg0, %[[Q]]
//   CHECK-DAG:   stablehlo.divide
func.func @divisions(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %four = stablehlo.constant dense<4.0> : tensor<4xf32>
  %three = stablehlo.constant dense<3.0> : tensor<4xf32>
  %0 = stablehlo.divide %x, %four : tensor<4xf32>
  %1 = stablehlo.divide %x, %three : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @square
//  CHECK-NEXT:   %[[S:.*]] = stablehlo.multiply %arg0, %arg0
//  CHECK-NEXT:   return %[[S]]
func.func @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = stablehlo.constant dense<2.0> : tensor<4xf32>
  %0 = stablehlo.power %x, %two : tensor<4xf32>
  return %0 : tensor<4xf32>
}

/// i8 fits into f32, so the way through it changes nothing; f32 does not fit into bf16.

// CHECK-LABEL: func @conversions
//   CHECK-DAG:   stablehlo.convert %arg0 : (tensor<4xi8>) -> tensor<4xi32>
//   CHECK-DAG:   stablehlo.convert %arg1 : (tensor<4xf32>) -> tensor<4xbf16>
//   CHECK-DAG:   stablehlo.convert %{{.*}} : (tensor<4xbf16>) -> tensor<4xf32>
func.func @conversions(%i: tensor<4xi8>, %x: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>) {
  %0 = stablehlo.convert %i : (tensor<4xi8>) -> tensor<4xf32>
  %1 = stablehlo.convert %0 : (tensor<4xf32>) -> tensor<4xi32>
  %2 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xbf16>
  %3 = stablehlo.convert %2 : (tensor<4xbf16>) -> tensor<4xf32>
  return %1, %3 : tensor<4xi32>, tensor<4xf32>
}

/// One number computed once, and broadcast after.

// CHECK-LABEL: func @before_the_broadcast
//       CHECK:   %[[E:.*]] = stablehlo.exponential %arg0 : tensor<8xf32>
//       CHECK:   stablehlo.broadcast_in_dim %[[E]], dims = [0]
func.func @before_the_broadcast(%x: tensor<8xf32>) -> tensor<8x1024xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<8xf32>) -> tensor<8x1024xf32>
  %1 = stablehlo.exponential %0 : tensor<8x1024xf32>
  return %1 : tensor<8x1024xf32>
}

/// Three constants: the sum of two is a constant at once, or two rules would exchange them without end.

// CHECK-LABEL: func @sums_of_constants
//   CHECK-DAG:   %[[SUM:.*]] = stablehlo.constant dense<49> : tensor<ui32>
//   CHECK-DAG:   %[[ALL:.*]] = stablehlo.constant dense<62> : tensor<ui32>
//       CHECK:   %[[X:.*]] = stablehlo.add %arg0, %[[ALL]]
//       CHECK:   return %[[SUM]], %[[X]]
func.func @sums_of_constants(%x: tensor<ui32>) -> (tensor<ui32>, tensor<ui32>) {
  %a = stablehlo.constant dense<13> : tensor<ui32>
  %b = stablehlo.constant dense<17> : tensor<ui32>
  %c = stablehlo.constant dense<19> : tensor<ui32>
  %0 = stablehlo.add %a, %b : tensor<ui32>
  %1 = stablehlo.add %c, %0 : tensor<ui32>
  %2 = stablehlo.add %a, %x : tensor<ui32>
  %3 = stablehlo.add %2, %1 : tensor<ui32>
  return %1, %3 : tensor<ui32>, tensor<ui32>
}

/// A loop that is written out: sums of constants again. JAX's fori_loop(0, 5, lambda i, x: x + i, 0).

// CHECK-LABEL: func @sum_in_a_loop
//  CHECK-NEXT:   %[[SUM:.*]] = stablehlo.constant dense<10> : tensor<i32>
//  CHECK-NEXT:   return %[[SUM]]
func.func @sum_in_a_loop() -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %x = %zero) : tensor<i32>, tensor<i32>
  cond {
    %n = stablehlo.constant dense<5> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %sum = stablehlo.add %x, %i : tensor<i32>
    stablehlo.return %next, %sum : tensor<i32>, tensor<i32>
  }
  return %r#1 : tensor<i32>
}

/// Booleans are added by `or`: true + true is true.

// CHECK-LABEL: func @sums_of_booleans
//       CHECK:   %[[T:.*]] = stablehlo.constant dense<true> : tensor<i1>
//       CHECK:   stablehlo.add %arg0, %[[T]]
func.func @sums_of_booleans(%x: tensor<i1>) -> tensor<i1> {
  %t = stablehlo.constant dense<true> : tensor<i1>
  %0 = stablehlo.add %x, %t : tensor<i1>
  %1 = stablehlo.add %0, %t : tensor<i1>
  return %1 : tensor<i1>
}
