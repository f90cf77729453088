// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(fuse-split-reduce))' | FileCheck %s

#gpu = #exec.target<chip = "sm_90a", units = 132, tile_elements = 8192, gpu = <shared_bytes = 232448>>

module attributes {exec.target = #gpu} {

/// A block reduces 32 columns, so the means of 64 channels would occupy two blocks.

// CHECK-LABEL: func @channels
//       CHECK:   %[[R:.*]] = stablehlo.reshape %arg0 : (tensor<8x112x112x64xbf16>) -> tensor<128x784x64xbf16>
//       CHECK:   %[[P:.*]] = stablehlo.reduce(%[[R]] init: %{{.*}}) {{.*}} across dimensions = [1] {{.*}} -> tensor<128x64xbf16>
//       CHECK:   stablehlo.reduce(%[[P]] init: %{{.*}}) {{.*}} across dimensions = [0]
func.func @channels(%x: tensor<8x112x112x64xbf16>) -> tensor<64xbf16> {
  %z = stablehlo.constant dense<0.0> : tensor<bf16>
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<8x112x112x64xbf16>, tensor<bf16>) -> tensor<64xbf16>
  return %r : tensor<64xbf16>
}

/// 50257 is 29 times a prime: 1733 blocks instead of 29.

// CHECK-LABEL: func @vocabulary
//       CHECK:   stablehlo.reshape %arg0 : (tensor<50257x768xf32>) -> tensor<1733x22272xf32>
//       CHECK:   stablehlo.reduce({{.*}}) {{.*}} across dimensions = [1] {{.*}} -> tensor<1733xf32>
func.func @vocabulary(%x: tensor<50257x768xf32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<50257x768xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

/// A second launch would take longer, 2,048 columns are enough blocks, and so are 64 rows.

// CHECK-LABEL: func @negative
//   CHECK-NOT:   stablehlo.reshape
func.func @negative(%x: tensor<1024x1024xf32>, %y: tensor<8192x2048xf32>, %p: tensor<64x65536xf32>)
    -> (tensor<1024xf32>, tensor<2048xf32>, tensor<64xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %1 = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8192x2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %2 = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [1] : (tensor<64x65536xf32>, tensor<f32>) -> tensor<64xf32>
  return %0, %1, %2 : tensor<1024xf32>, tensor<2048xf32>, tensor<64xf32>
}
}
