// RUN: tilewright-opt %s --simplify-inline | FileCheck %s

/// Calls within calls, and a composite that no target knows, become their bodies;
/// a known one stays with its decomposition, and nothing else does.

// CHECK-LABEL: func.func public @main
//       CHECK:   %[[A:.*]] = stablehlo.add %arg0, %arg0
//       CHECK:   %[[M:.*]] = stablehlo.multiply %[[A]], %[[A]]
//       CHECK:   %[[N:.*]] = stablehlo.negate %[[M]]
//       CHECK:   %[[E:.*]] = stablehlo.composite "chlo.erf" %[[N]] {decomposition = @erf
//       CHECK:   return %[[E]]
//   CHECK-NOT: @inner
//   CHECK-NOT: @outer
//   CHECK-NOT: @flip
//       CHECK: func.func private @erf
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @outer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.composite "example.flip" %0 {decomposition = @flip} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.composite "chlo.erf" %1 {decomposition = @erf} : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @flip(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @erf(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
