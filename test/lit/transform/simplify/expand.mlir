// RUN: tilewright-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(simplify-expand))' | FileCheck %s
// RUN: tilewright-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(simplify-expand))' \
// RUN:   --compile.log-passes=simplify-expand -o /dev/null 2>&1 | FileCheck %s --check-prefix=LOG

/// Each tap is a strided slice of the padded operand. The initial value is the identity, so it is the padding.

// CHECK-LABEL: func @few_taps
//   CHECK-DAG:   %[[INIT:.*]] = stablehlo.constant dense<0xFF800000> : tensor<f32>
//       CHECK:   %[[P:.*]] = stablehlo.pad %arg0, %[[INIT]], low = [1], high = [0], interior = [0]
//       CHECK:   %[[A:.*]] = stablehlo.slice %[[P]] [0:7:2]
//       CHECK:   %[[B:.*]] = stablehlo.slice %[[P]] [1:8:2]
//       CHECK:   %[[M:.*]] = stablehlo.maximum %[[A]], %[[B]]
//       CHECK:   %[[R:.*]] = stablehlo.maximum %{{.*}}, %[[M]]
//       CHECK:   return %[[R]]
module attributes {exec.target = #exec.target<gpu = <>>} {
func.func @few_taps(%x: tensor<7xf32>) -> tensor<4xf32> {
  %init = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %init) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>,
      padding = dense<[[1, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<7xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
}

// -----

/// Padding must not count: the initial value is not known to be the identity. A mask selects the elements.

// CHECK-LABEL: func @unknown_initial_value
//       CHECK:   stablehlo.iota dim = 0 : tensor<4xi32>
//       CHECK:   stablehlo.select
module attributes {exec.target = #exec.target<gpu = <>>} {
func.func @unknown_initial_value(%x: tensor<4xi32>, %init: tensor<i32>) -> tensor<4xi32> {
  %r = "stablehlo.reduce_window"(%x, %init) <{window_dimensions = array<i64: 2>, padding = dense<[[1, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}
}

// -----

/// 1,000 = 512 + 256 + 128 + 64 + 32 + 8: nine steps of doubling, five that join, and the initial value.

// CHECK-LABEL: func @long_window
// CHECK-COUNT-15: stablehlo.add %{{.*}} : tensor<{{[0-9]+}}xf32>
//   CHECK-NOT:   stablehlo.add
//       CHECK:   return
module attributes {exec.target = #exec.target<gpu = <>>} {
func.func @long_window(%x: tensor<1000xf32>) -> tensor<1000xf32> {
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %init) <{window_dimensions = array<i64: 1000>, padding = dense<[[500, 499]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1000xf32>, tensor<f32>) -> tensor<1000xf32>
  return %r : tensor<1000xf32>
}
}

// -----

/// Large windows that do not overlap are blocks.

// CHECK-LABEL: func @blocks
//       CHECK:   %[[B:.*]] = stablehlo.reshape %arg0 : (tensor<200x30xf32>) -> tensor<2x100x3x10xf32>
//       CHECK:   stablehlo.reduce(%[[B]] init: %{{.*}}) applies stablehlo.add across dimensions = [1, 3]
module attributes {exec.target = #exec.target<gpu = <>>} {
func.func @blocks(%x: tensor<200x30xf32>) -> tensor<2x3xf32> {
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %init) <{window_dimensions = array<i64: 100, 10>, window_strides = array<i64: 100, 10>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<200x30xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}
}

// -----

/// The gradient of a max-pool: nothing is scattered. Windows of three with stride two: an element is under up to two.

// CHECK-LABEL: func @pooling_gradient
// CHECK-COUNT-3: stablehlo.compare GE, %{{.*}}tensor<2xf32>
// CHECK-COUNT-2: stablehlo.add %{{.*}} : tensor<3x2xf32>
//       CHECK:   %[[J:.*]] = stablehlo.reshape %{{.*}} : (tensor<3x2xf32>) -> tensor<6xf32>
//       CHECK:   %[[R:.*]] = stablehlo.slice %[[J]] [0:5]
//       CHECK:   return %[[R]]
module attributes {exec.target = #exec.target<gpu = <>>} {
func.func @pooling_gradient(%x: tensor<5xf32>, %s: tensor<2xf32>) -> tensor<5xf32> {
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.select_and_scatter"(%x, %s, %init) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %g = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %g : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %t = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<5xf32>, tensor<2xf32>, tensor<f32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}
}

// -----

/// 4,096 = 64 * 64: two products with a matrix of 128 x 128, and twiddle factors between them.

// CHECK-LABEL: func @transform
//       CHECK:   stablehlo.dot_general {{.*}}precision = [HIGHEST, HIGHEST]{{.*}}(tensor<64x128xf32>, tensor<128x128xf32>) -> tensor<64x128xf32>
//       CHECK:   stablehlo.dot_general {{.*}}precision = [HIGHEST, HIGHEST]{{.*}}(tensor<64x128xf32>, tensor<128x128xf32>) -> tensor<64x128xf32>
//   CHECK-NOT:   stablehlo.dot_general
module attributes {exec.target = #exec.target<gpu = <>>} {
func.func @transform(%x: tensor<4096xcomplex<f32>>) -> tensor<4096xcomplex<f32>> {
  %r = stablehlo.fft %x, type = FFT, length = [4096] : (tensor<4096xcomplex<f32>>) -> tensor<4096xcomplex<f32>>
  return %r : tensor<4096xcomplex<f32>>
}
}

// -----

/// Two loops, one of which runs in the other: blocks, and the columns of the block on the diagonal.

// CHECK-LABEL: func @factor
//       CHECK:   stablehlo.while
//       CHECK:     stablehlo.while
//       CHECK:     stablehlo.dot_general
//   CHECK-NOT:   stablehlo.cholesky
module attributes {exec.target = #exec.target<gpu = <>>} {
func.func @factor(%x: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %r = stablehlo.cholesky %x, lower = true : tensor<128x128xf32>
  return %r : tensor<128x128xf32>
}
}

// -----

/// Not a function of scalars: the op stays, and the log says why.

// CHECK-LABEL: func @negative_body_with_a_reduction
//       CHECK:   "stablehlo.reduce_window"
//         LOG: simplify-expand: 'stablehlo.reduce_window' at {{.*}}: is not expanded: the body has 'stablehlo.reduce', which is not an elementwise op on scalars
module attributes {exec.target = #exec.target<gpu = <>>} {
func.func @negative_body_with_a_reduction(%x: tensor<4xf32>) -> tensor<3xf32> {
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %init) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %t = stablehlo.reduce(%a init: %b) applies stablehlo.add across dimensions = [] : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
}

// -----

/// A CPU has a library.

// CHECK-LABEL: func @negative_cpu
//       CHECK:   stablehlo.fft
func.func @negative_cpu(%x: tensor<16xcomplex<f32>>) -> tensor<16xcomplex<f32>> {
  %r = stablehlo.fft %x, type = FFT, length = [16] : (tensor<16xcomplex<f32>>) -> tensor<16xcomplex<f32>>
  return %r : tensor<16xcomplex<f32>>
}
