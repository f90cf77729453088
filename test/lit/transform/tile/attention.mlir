// RUN: tilewright-opt %s --pass-pipeline='builtin.module(nvptx-attach-target{chip=sm_80},func.func(fuse-cascades,fuse-products),tile-fusions)' | FileCheck %s
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(nvptx-attach-target{chip=sm_80},func.func(fuse-cascades,fuse-products),tile-fusions,tile-solve-layouts)' | FileCheck %s --check-prefix=LAYOUT
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(amdgcn-attach-target{chip=gfx950},func.func(fuse-cascades,fuse-products),tile-fusions,tile-solve-layouts)' | FileCheck %s --check-prefix=MFMA

/// A point computes 64 queries of a head. The loop over blocks of keys carries the sums of values, the maxima and the sums of
/// weights. The factor of the scores is part of the exponential, so maxima are those of the products.

// CHECK-LABEL: func.func @attention
// CHECK-NOT: 128x256
// CHECK: exec.launch @softmax_dot(%arg0, %arg1, %arg2)
// CHECK: tile.kernel @softmax_dot grid [2, 2] inputs 3 attributes {warps = 4 : i64}
// CHECK: %[[QUERIES:.*]] = tile.load {{.*}} -> tensor<1x64x32xf16>
// CHECK: scf.for {{.*}} iter_args(%[[SUMS:.*]] = %{{.*}}, %[[MAXIMUM:.*]] = %{{.*}}, %[[TOTAL:.*]] = %{{.*}}) -> (tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>)
// CHECK: tile.load {{.*}} -> tensor<1x64x32xf16>
// CHECK: tile.dot {{.*}} : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
// CHECK-NOT: arith.mulf
// CHECK: tile.reduce {{.*}} dims [1]
// CHECK: arith.maximumf
/// Where the maximum times the factor is so large that its rounding would change the weights, a power of 2 is the factor.
// CHECK: %[[SIZE:.*]] = math.absf
// CHECK: arith.cmpf olt, %[[SIZE]], {{.*}} : f32
// CHECK: arith.select
// CHECK: %[[POWER:.*]] = math.fma
// CHECK-NEXT: math.exp2 %[[POWER]] fastmath<afn>
// CHECK: %[[WEIGHTS:.*]] = tile.map({{.*}}) : (tensor<64x64xf32>) -> tensor<64x64xf16>
// CHECK: tile.dot %[[WEIGHTS]], {{.*}} : tensor<64x64xf16>, tensor<64x32xf16> -> tensor<64x32xf32>
// CHECK: scf.yield
// CHECK: arith.divf
// CHECK: tile.store {{.*}} memref<2x128x32xf16>

/// The weights stay where the first product left its sums: only keys and values go through shared memory.
// LAYOUT: sm.kernel @softmax_dot
// LAYOUT-COUNT-2: sm.convert
// LAYOUT-NOT: sm.convert

/// With MFMA, the layout of the weights is that of the first product's sums: a lane has one query and groups of four keys. It is a left operand of the
/// second one, whose right operand has the keys in this order, too. Keys and values of the next block are loaded before this one is multiplied.
// MFMA: #[[WEIGHTS:.*]] = #sm.layout<[4 warp, 16 lane] [4 reg:4, 4 lane:16, 4 reg]>
// MFMA: sm.kernel @softmax_dot
// MFMA: scf.for
// MFMA-NOT: sm.convert
// MFMA: tile.load {{.*}} -> tensor<1x64x32xf16
// MFMA: tile.dot {{.*}} -> tensor<64x64xf32, #[[WEIGHTS]]>
// MFMA-NOT: sm.convert
// MFMA: tile.map({{.*}}) {tile.rarely_scales}
// MFMA: sm.convert {{.*}} : tensor<64x32xf16
// MFMA-NOT: sm.convert
// MFMA: tile.load {{.*}} -> tensor<1x64x32xf16
// MFMA: tile.dot %{{[^,]*}}, {{.*}} : tensor<64x64xf16, #[[WEIGHTS]]>
func.func @attention(%q: tensor<2x128x32xf16>, %k: tensor<2x256x32xf16>, %v: tensor<2x256x32xf16>) -> tensor<2x128x32xf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %scale = stablehlo.constant dense<0.25> : tensor<2x128x256xf32>
  %x = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x128x32xf16>, tensor<2x256x32xf16>) -> tensor<2x128x256xf32>
  %s = stablehlo.multiply %x, %scale : tensor<2x128x256xf32>
  %m = stablehlo.reduce(%s init: %lowest) applies stablehlo.maximum across dimensions = [2] : (tensor<2x128x256xf32>, tensor<f32>) -> tensor<2x128xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x128xf32>) -> tensor<2x128x256xf32>
  %d = stablehlo.subtract %s, %mb : tensor<2x128x256xf32>
  %e = stablehlo.exponential %d : tensor<2x128x256xf32>
  %l = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x128x256xf32>, tensor<f32>) -> tensor<2x128xf32>
  %lb = stablehlo.broadcast_in_dim %l, dims = [0, 1] : (tensor<2x128xf32>) -> tensor<2x128x256xf32>
  %p = stablehlo.divide %e, %lb : tensor<2x128x256xf32>
  %w = stablehlo.convert %p : (tensor<2x128x256xf32>) -> tensor<2x128x256xf16>
  %o = stablehlo.dot_general %w, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x128x256xf16>, tensor<2x256x32xf16>) -> tensor<2x128x32xf16>
  return %o : tensor<2x128x32xf16>
}
