// RUN: tilewright-opt %s --tile-fusions --split-input-file | FileCheck %s

/// Forward: the depth is a loop over 9 taps and 4 pieces of the features; rows are 8x8 positions of two images; padding is zero.

#gpu = #exec.target<units = 132, tile_elements = 16384, gpu = <>, matrix = <types = [f16]>>
// CHECK-LABEL: tile.kernel @forward grid [8, 7, 7, 2] inputs 2
// CHECK: scf.for %{{.*}} = %c0 to %c36 step %c1
// CHECK: tile.load %{{.*}} padding %{{.*}} : f16 in_bounds [true, false, false, true] : memref<16x56x56x256xf16> -> tensor<2x8x8x64xf16>
// CHECK: tile.load %{{.*}} : memref<3x3x256x256xf16> -> tensor<1x1x64x128xf16>
// CHECK: tile.dot %{{.*}} : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
module attributes {exec.target = #gpu} {
func.func @main(%a: tensor<16x56x56x256xf16>, %b: tensor<3x3x256x256xf16>) -> tensor<16x56x56x256xf16> {
  %r = exec.fusion "forward" (%a, %b) : (tensor<16x56x56x256xf16>, tensor<3x3x256x256xf16>) -> tensor<16x56x56x256xf16> {
  ^bb0(%0: tensor<16x56x56x256xf16>, %1: tensor<3x3x256x256xf16>):
    %c = stablehlo.convolution(%0, %1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<16x56x56x256xf16>, tensor<3x3x256x256xf16>) -> tensor<16x56x56x256xf16>
    exec.yield %c : tensor<16x56x56x256xf16>
  }
  return %r : tensor<16x56x56x256xf16>
}
}

// -----

/// Weights: the 3x3 taps are in the grid, and the depth is a loop over images and squares of 8x8 pixels, which divide an image of 56x56.

#gpu = #exec.target<units = 132, tile_elements = 16384, gpu = <>, matrix = <types = [f16]>>
// CHECK-LABEL: tile.kernel @weights grid [{{.*}}3, 3{{.*}}] inputs 2
// CHECK: scf.for %{{.*}} = %c0 to %c784 step %c1
// CHECK: tile.load %{{.*}} -> tensor<1x8x8x64xf16>
// CHECK: tile.load %{{.*}} -> tensor<1x8x8x64xf16>
// CHECK: tile.dot
module attributes {exec.target = #gpu} {
func.func @main(%a: tensor<16x56x56x64xf16>, %b: tensor<16x56x56x64xf16>) -> tensor<64x3x3x64xf32> {
  %r = exec.fusion "weights" (%a, %b) : (tensor<16x56x56x64xf16>, tensor<16x56x56x64xf16>) -> tensor<64x3x3x64xf32> {
  ^bb0(%0: tensor<16x56x56x64xf16>, %1: tensor<16x56x56x64xf16>):
    %c = stablehlo.convolution(%0, %1) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<16x56x56x64xf16>, tensor<16x56x56x64xf16>) -> tensor<64x3x3x64xf32>
    exec.yield %c : tensor<64x3x3x64xf32>
  }
  return %r : tensor<64x3x3x64xf32>
}
}

// -----

/// Images of 7x7 pixels have no such squares, so the depth is over 32 of the images. The tile may leave the images, beyond which both operands are zero.

#gpu = #exec.target<units = 132, tile_elements = 16384, gpu = <>, matrix = <types = [f16]>>
// CHECK-LABEL: tile.kernel @small_images grid [{{.*}}3, 3{{.*}}] inputs 2
// CHECK: scf.for %{{.*}} = %c0 to %c49 step %c1
// CHECK: tile.load %{{.*}} -> tensor<32x1x1x64xf16>
// CHECK: tile.load %{{.*}} -> tensor<32x1x1x64xf16>
// CHECK-NOT: arith.select
// CHECK: tile.dot
module attributes {exec.target = #gpu} {
func.func @main(%a: tensor<24x7x7x64xf16>, %b: tensor<24x7x7x64xf16>) -> tensor<64x3x3x64xf32> {
  %r = exec.fusion "small_images" (%a, %b) : (tensor<24x7x7x64xf16>, tensor<24x7x7x64xf16>) -> tensor<64x3x3x64xf32> {
  ^bb0(%0: tensor<24x7x7x64xf16>, %1: tensor<24x7x7x64xf16>):
    %c = stablehlo.convolution(%0, %1) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<24x7x7x64xf16>, tensor<24x7x7x64xf16>) -> tensor<64x3x3x64xf32>
    exec.yield %c : tensor<64x3x3x64xf32>
  }
  return %r : tensor<64x3x3x64xf32>
}
}

// -----

/// Depthwise: no product of matrices, but tiles along the features.

#gpu = #exec.target<units = 132, tile_elements = 16384, gpu = <>, matrix = <types = [f16]>>
// CHECK-LABEL: tile.kernel @depthwise
// CHECK: scf.for %{{.*}} = %c0 to %c9 step %c1
// CHECK-NOT: tile.dot
// CHECK: tile.store
module attributes {exec.target = #gpu} {
func.func @main(%a: tensor<2x16x16x64xf16>, %b: tensor<3x3x1x64xf16>) -> tensor<2x16x16x64xf16> {
  %r = exec.fusion "depthwise" (%a, %b) : (tensor<2x16x16x64xf16>, tensor<3x3x1x64xf16>) -> tensor<2x16x16x64xf16> {
  ^bb0(%0: tensor<2x16x16x64xf16>, %1: tensor<3x3x1x64xf16>):
    %c = stablehlo.convolution(%0, %1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 64 : i64} : (tensor<2x16x16x64xf16>, tensor<3x3x1x64xf16>) -> tensor<2x16x16x64xf16>
    exec.yield %c : tensor<2x16x16x64xf16>
  }
  return %r : tensor<2x16x16x64xf16>
}
}
