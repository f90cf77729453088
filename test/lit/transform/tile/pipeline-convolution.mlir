// RUN: tilewright-opt %s --tile-fusions --tile-pipeline --split-input-file | FileCheck %s

/// The rows of a tile are 8x8 positions of four images, two for each CTA: a box of four dimensions. So is the result, which the copy engine stores.

#hopper = #exec.target<chip = "sm_90a", units = 132, tile_elements = 16384, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, types = [f16], registers_move = true>,
  rates = <f16 = 2048, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 2>>
// CHECK-LABEL: sm.kernel @forward grid [4, 7, 7] inputs 2 warps {{.*}} cluster [2, 1, 1] persistent "static"
//       CHECK:   sm.role "load"
//       CHECK:     scf.for %{{.*}} = %{{.*}} to %c36
//       CHECK:       sm.copy {{ ?}}tma %{{.*}} dims [0, 1, 2, 3] box [4, 8, 8, 64] : memref<16x56x56x256xf16>
//       CHECK:       sm.copy {{ ?}}tma %{{.*}} : memref<3x3x256x256xf16>
//       CHECK:   sm.role "math"
//       CHECK:     sm.copy {{ ?}}tma %{{.*}} dims [0, 1, 2, 3] box [4, 8, 8, 256] : {{.*}} to memref<16x56x56x256xf16>
module attributes {exec.target = #hopper} {
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

/// With a stride, the box takes every second pixel.

#hopper = #exec.target<chip = "sm_90a", units = 132, tile_elements = 16384, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, types = [f16], registers_move = true>,
  rates = <f16 = 2048, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 2>>
// CHECK-LABEL: sm.kernel @strided
//       CHECK:   sm.copy {{ ?}}tma %{{.*}} dims [0, 1, 2, 3] box [{{.*}}, 64] strides [1, 2, 2, 1] : memref<16x56x56x256xf16>
module attributes {exec.target = #hopper} {
func.func @main(%a: tensor<16x56x56x256xf16>, %b: tensor<3x3x256x256xf16>) -> tensor<16x28x28x256xf16> {
  %r = exec.fusion "strided" (%a, %b) : (tensor<16x56x56x256xf16>, tensor<3x3x256x256xf16>) -> tensor<16x28x28x256xf16> {
  ^bb0(%0: tensor<16x56x56x256xf16>, %1: tensor<3x3x256x256xf16>):
    %c = stablehlo.convolution(%0, %1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<16x56x56x256xf16>, tensor<3x3x256x256xf16>) -> tensor<16x28x28x256xf16>
    exec.yield %c : tensor<16x28x28x256xf16>
  }
  return %r : tensor<16x28x28x256xf16>
}
}

// -----

/// 32 features are half of a line. Both operands are zero beyond them, because memory ends there.

#hopper = #exec.target<chip = "sm_90a", units = 132, tile_elements = 16384, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, types = [f16], registers_move = true>,
  rates = <f16 = 2048, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 2>>
// CHECK-LABEL: sm.kernel @half_lines
//       CHECK:   sm.copy {{ ?}}tma %{{.*}} dims [0, 1, 2, 3] box [{{.*}}, 64] : memref<16x56x56x32xf16>
module attributes {exec.target = #hopper} {
func.func @main(%a: tensor<16x56x56x32xf16>, %b: tensor<3x3x32x256xf16>) -> tensor<16x56x56x256xf16> {
  %r = exec.fusion "half_lines" (%a, %b) : (tensor<16x56x56x32xf16>, tensor<3x3x32x256xf16>) -> tensor<16x56x56x256xf16> {
  ^bb0(%0: tensor<16x56x56x32xf16>, %1: tensor<3x3x32x256xf16>):
    %c = stablehlo.convolution(%0, %1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<16x56x56x32xf16>, tensor<3x3x32x256xf16>) -> tensor<16x56x56x256xf16>
    exec.yield %c : tensor<16x56x56x256xf16>
  }
  return %r : tensor<16x56x56x256xf16>
}
}

// -----

/// Gradient of the weights: the depth is 8x8 pixels of both operands, which are contiguous along M and N.

#hopper = #exec.target<chip = "sm_90a", units = 132, tile_elements = 16384, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, types = [f16], registers_move = true>,
  rates = <f16 = 2048, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 2>>
// CHECK-LABEL: sm.kernel @weights
//       CHECK:   sm.copy {{ ?}}tma %{{.*}} transposed dims [1, 2, 3] box [8, 8, 128] : memref<16x56x56x256xf16>
//       CHECK:   sm.copy {{ ?}}tma %{{.*}} dims [1, 2, 3] box [8, 8, 128] : memref<16x56x56x256xf16>
module attributes {exec.target = #hopper} {
func.func @main(%a: tensor<16x56x56x256xf16>, %b: tensor<16x56x56x256xf16>) -> tensor<3x3x256x256xf16> {
  %r = exec.fusion "weights" (%a, %b) : (tensor<16x56x56x256xf16>, tensor<16x56x56x256xf16>) -> tensor<3x3x256x256xf16> {
  ^bb0(%0: tensor<16x56x56x256xf16>, %1: tensor<16x56x56x256xf16>):
    %c = stablehlo.convolution(%0, %1) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<16x56x56x256xf16>, tensor<16x56x56x256xf16>) -> tensor<3x3x256x256xf16>
    exec.yield %c : tensor<3x3x256x256xf16>
  }
  return %r : tensor<3x3x256x256xf16>
}
}

// -----

/// The pixels of 32 images: a depth of 32, because neither operand has lines along K.

#hopper = #exec.target<chip = "sm_90a", units = 132, tile_elements = 16384, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, types = [f16], registers_move = true>,
  rates = <f16 = 2048, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 2>>
// CHECK-LABEL: sm.kernel @small_images
//       CHECK:   sm.channel {{.*}}x32xf16{{.*}}32x{{.*}}xf16
//       CHECK:   sm.copy {{ ?}}tma %{{.*}} transposed dims [0, 3] : memref<32x7x7x256xf16>
module attributes {exec.target = #hopper} {
func.func @main(%a: tensor<32x7x7x256xf16>, %b: tensor<32x7x7x256xf16>) -> tensor<3x3x256x256xf16> {
  %r = exec.fusion "small_images" (%a, %b) : (tensor<32x7x7x256xf16>, tensor<32x7x7x256xf16>) -> tensor<3x3x256x256xf16> {
  ^bb0(%0: tensor<32x7x7x256xf16>, %1: tensor<32x7x7x256xf16>):
    %c = stablehlo.convolution(%0, %1) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<32x7x7x256xf16>, tensor<32x7x7x256xf16>) -> tensor<3x3x256x256xf16>
    exec.yield %c : tensor<3x3x256x256xf16>
  }
  return %r : tensor<3x3x256x256xf16>
}
}

// -----

/// Without a copy engine, threads copy the same boxes.

#ampere = #exec.target<chip = "sm_80", units = 108, tile_elements = 16384, gpu = <shared_bytes = 166912>, matrix = <unit = mma, types = [f16]>,
  rates = <f16 = 1024, matrix_latency = 33, copy_latency = 700, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1103>>
// CHECK-LABEL: sm.kernel @by_threads
//       CHECK:   sm.copy {{ ?}}cp_async %{{.*}} dims [0, 1, 2, 3] box [2, 8, 8, 64] strides [1, 2, 2, 1] : memref<16x112x112x256xf16>
//       CHECK:   sm.mma {{ ?}}mma_sync
module attributes {exec.target = #ampere} {
func.func @main(%a: tensor<16x112x112x256xf16>, %b: tensor<3x3x256x256xf16>) -> tensor<16x56x56x256xf16> {
  %r = exec.fusion "by_threads" (%a, %b) : (tensor<16x112x112x256xf16>, tensor<3x3x256x256xf16>) -> tensor<16x56x56x256xf16> {
  ^bb0(%0: tensor<16x112x112x256xf16>, %1: tensor<3x3x256x256xf16>):
    %c = stablehlo.convolution(%0, %1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<16x112x112x256xf16>, tensor<3x3x256x256xf16>) -> tensor<16x56x56x256xf16>
    exec.yield %c : tensor<16x56x56x256xf16>
  }
  return %r : tensor<16x56x56x256xf16>
}
}

// -----

/// A computed operand goes through registers. With 40 features, the last 16 of 64 would be constant zeros, whose register LLVM may use elsewhere.

#hopper = #exec.target<chip = "sm_90a", units = 132, tile_elements = 16384, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, types = [f16], registers_move = true>,
  rates = <f16 = 2048, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 2>>
// CHECK-LABEL: tile.kernel @constant_zeros
module attributes {exec.target = #hopper} {
func.func @main(%a: tensor<64x16x40xf16>, %b: tensor<4x40x64xf16>) -> tensor<64x13x64xf16> {
  %r = exec.fusion "constant_zeros" (%a, %b) : (tensor<64x16x40xf16>, tensor<4x40x64xf16>) -> tensor<64x13x64xf16> {
  ^bb0(%0: tensor<64x16x40xf16>, %1: tensor<4x40x64xf16>):
    %n = stablehlo.negate %1 : tensor<4x40x64xf16>
    %c = stablehlo.convolution(%0, %n) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<64x16x40xf16>, tensor<4x40x64xf16>) -> tensor<64x13x64xf16>
    exec.yield %c : tensor<64x13x64xf16>
  }
  return %r : tensor<64x13x64xf16>
}
}

// -----

#hopper = #exec.target<chip = "sm_90a", units = 132, tile_elements = 16384, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, types = [f16], registers_move = true>,
  rates = <f16 = 2048, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 2>>
// CHECK-LABEL: sm.kernel @no_constant_zeros
module attributes {exec.target = #hopper} {
func.func @main(%a: tensor<64x16x56xf16>, %b: tensor<4x56x64xf16>) -> tensor<64x13x64xf16> {
  %r = exec.fusion "no_constant_zeros" (%a, %b) : (tensor<64x16x56xf16>, tensor<4x56x64xf16>) -> tensor<64x13x64xf16> {
  ^bb0(%0: tensor<64x16x56xf16>, %1: tensor<4x56x64xf16>):
    %n = stablehlo.negate %1 : tensor<4x56x64xf16>
    %c = stablehlo.convolution(%0, %n) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<64x16x56xf16>, tensor<4x56x64xf16>) -> tensor<64x13x64xf16>
    exec.yield %c : tensor<64x13x64xf16>
  }
  return %r : tensor<64x13x64xf16>
}
}
