// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(simplify-canonicalize))' | FileCheck %s
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(simplify-canonicalize{max-fold-elements=0}))' \
// RUN:   | FileCheck %s --check-prefix=OFF

/// The evaluator says what 2 + 3 is; with folding off the program does.

// CHECK-LABEL: func @sum
//       CHECK:   stablehlo.constant dense<5.000000e+00>
//   OFF-LABEL: func @sum
//         OFF:   stablehlo.add
func.func @sum() -> tensor<f32> {
  %a = stablehlo.constant dense<2.0> : tensor<f32>
  %b = stablehlo.constant dense<3.0> : tensor<f32>
  %c = stablehlo.add %a, %b : tensor<f32>
  return %c : tensor<f32>
}

/// A large splat stays one number, whatever is computed with it.

// CHECK-LABEL: func @splats
//       CHECK:   %[[C:.*]] = stablehlo.constant dense<6.000000e+00> : tensor<f32>
//       CHECK:   %[[B:.*]] = stablehlo.broadcast_in_dim %[[C]], dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
//       CHECK:   return %[[B]]
func.func @splats() -> tensor<1024x1024xf32> {
  %a = stablehlo.constant dense<2.0> : tensor<1024x1024xf32>
  %b = stablehlo.constant dense<3.0> : tensor<1024x1024xf32>
  %c = stablehlo.multiply %a, %b : tensor<1024x1024xf32>
  return %c : tensor<1024x1024xf32>
}

/// Reductions of constants are folded, body and all.

// CHECK-LABEL: func @reduced
//       CHECK:   stablehlo.constant dense<[3.000000e+00, 7.000000e+00]>
func.func @reduced() -> tensor<2xf32> {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

/// What would grow much is left to the program.

// CHECK-LABEL: func @negative_grows
//       CHECK:   stablehlo.pad
func.func @negative_grows() -> tensor<4000xf32> {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.pad %x, %z, low = [3998], high = [0], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<4000xf32>
  return %r : tensor<4000xf32>
}

/// A counter of an iota is no constant: it costs nothing as it is.

// CHECK-LABEL: func @negative_iota
//       CHECK:   stablehlo.iota
func.func @negative_iota() -> tensor<8xi32> {
  %0 = stablehlo.iota dim = 0 : tensor<8xi32>
  return %0 : tensor<8xi32>
}
