// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(simplify-canonicalize))' | FileCheck %s

/// A loop that counts knows how often it turns; state that does not change is
/// read from outside, state that nobody needs is gone.

// CHECK-LABEL: func @counts
//       CHECK:   %[[W:.*]]:2 = stablehlo.while(%[[I:.*]] = %{{.*}}, %[[X:.*]] = %arg0) : tensor<i32>, tensor<4x4xf32>
//       CHECK:   attributes {exec.trip_count = 10 : i64}
//       CHECK:   stablehlo.dot_general %[[X]], %arg1
//       CHECK:   return %[[W]]#1
func.func @counts(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %r:4 = stablehlo.while(%i = %zero, %v = %x, %u = %w, %unused = %x) : tensor<i32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %p = stablehlo.dot_general %v, %u, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %q = stablehlo.add %unused, %p : tensor<4x4xf32>
    stablehlo.return %next, %p, %u, %q : tensor<i32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
  return %r#1 : tensor<4x4xf32>
}

/// Few turns of arithmetic are written out.

// CHECK-LABEL: func @unrolled
//  CHECK-NEXT:   %[[A:.*]] = stablehlo.multiply %arg0, %arg0
//  CHECK-NEXT:   %[[B:.*]] = stablehlo.multiply %[[A]], %[[A]]
//  CHECK-NEXT:   %[[C:.*]] = stablehlo.multiply %[[B]], %[[B]]
//  CHECK-NEXT:   return %[[C]]
func.func @unrolled(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %p = stablehlo.multiply %v, %v : tensor<4xf32>
    stablehlo.return %next, %p : tensor<i32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

/// A branch that is chosen, and a result that no branch changes.

// CHECK-LABEL: func @branches
//  CHECK-NEXT:   %[[N:.*]] = stablehlo.negate %arg0
//  CHECK-NEXT:   return %[[N]], %arg0
func.func @branches(%x: tensor<4xf32>, %p: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  %true = stablehlo.constant dense<true> : tensor<i1>
  %0 = "stablehlo.if"(%true) ({
    %n = stablehlo.negate %x : tensor<4xf32>
    stablehlo.return %n : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %1 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

/// A conversion of weights is done once, a broadcast in each turn; a counter that
/// starts at zero is never negative.

// CHECK-LABEL: func @invariant
//       CHECK:   %[[W:.*]] = stablehlo.convert %arg1
//       CHECK:   stablehlo.while
//       CHECK:   do {
//   CHECK-NOT:     stablehlo.convert
//   CHECK-NOT:     stablehlo.select
//       CHECK:     stablehlo.broadcast_in_dim %arg2
//       CHECK:     stablehlo.dot_general %{{.*}}, %[[W]]
func.func @invariant(%x: tensor<64x64xf32>, %w: tensor<64x64xf64>, %b: tensor<64xf32>) -> (tensor<64x64xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %v = %x, %s = %zero) : tensor<i32>, tensor<64x64xf32>, tensor<i32>
  cond {
    %more = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %negative = stablehlo.compare LT, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %wrapped = stablehlo.add %i, %ten : tensor<i32>
    %index = stablehlo.select %negative, %wrapped, %i : tensor<i1>, tensor<i32>
    %t = stablehlo.add %s, %index : tensor<i32>
    %narrow = stablehlo.convert %w : (tensor<64x64xf64>) -> tensor<64x64xf32>
    %bias = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
    %p = stablehlo.dot_general %v, %narrow, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %q = stablehlo.add %p, %bias : tensor<64x64xf32>
    stablehlo.return %next, %q, %t : tensor<i32>, tensor<64x64xf32>, tensor<i32>
  }
  return %r#1, %r#2 : tensor<64x64xf32>, tensor<i32>
}

/// Bounds beyond the largest i64 are unsigned numbers, not the largest i64.

// CHECK-LABEL: func @beyond_i64
//       CHECK:   stablehlo.while
//       CHECK:     stablehlo.compare LT
func.func @beyond_i64(%x: tensor<4xf32>) -> tensor<4xf32> {
  %begin = stablehlo.constant dense<9223372036854775808> : tensor<ui64>
  %end = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
  %one = stablehlo.constant dense<1> : tensor<ui64>
  %r:2 = stablehlo.while(%i = %begin, %v = %x) : tensor<ui64>, tensor<4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %end : (tensor<ui64>, tensor<ui64>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<ui64>
    %p = stablehlo.multiply %v, %v : tensor<4xf32>
    stablehlo.return %next, %p : tensor<ui64>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}
