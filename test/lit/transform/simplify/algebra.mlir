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
