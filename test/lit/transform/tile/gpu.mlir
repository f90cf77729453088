// RUN: tilewright-opt %s --tile-fusions --split-input-file | FileCheck %s

// A block of a GPU holds as much of a tile as its registers do, and goes through the rest in a loop.

#gpu = #exec.target<units = 132, tile_elements = 16384, gpu = <>, matrix = <types = [f16, tf32]>>

// A product: the depth in pieces of 128 bytes, zero where they leave it, and the bias behind.
// CHECK-LABEL: tile.kernel @gemm grid [16, 8] inputs 3
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %c0 to %c16 step %c1 iter_args
// CHECK: tile.load %{{.*}} padding %{{.*}} : f16 in_bounds [false, false] : memref<1000x1000xf16> -> tensor<64x64xf16>
// CHECK: tile.load %{{.*}} padding %{{.*}} : f16 in_bounds [false, true] : memref<1000x512xf16> -> tensor<64x64xf16>
// CHECK: tile.dot
// CHECK-NOT: tf32
// CHECK: tile.map(%[[SUM]]
// CHECK: tile.store %{{.*}} in_bounds [false, true]
module attributes {exec.target = #gpu} {
func.func @main(%a: tensor<1000x1000xf16>, %b: tensor<1000x512xf16>, %c: tensor<512xf32>) -> tensor<1000x512xf32> {
  %r = exec.fusion "gemm" (%a, %b, %c) : (tensor<1000x1000xf16>, tensor<1000x512xf16>, tensor<512xf32>) -> tensor<1000x512xf32> {
  ^bb0(%0: tensor<1000x1000xf16>, %1: tensor<1000x512xf16>, %2: tensor<512xf32>):
    %d = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<1000x1000xf16>, tensor<1000x512xf16>) -> tensor<1000x512xf32>
    %e = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<512xf32>) -> tensor<1000x512xf32>
    %f = stablehlo.add %d, %e : tensor<1000x512xf32>
    exec.yield %f : tensor<1000x512xf32>
  }
  return %r : tensor<1000x512xf32>
}
}

// -----

// f32 goes through tf32 at the default precision only; else every product is an element.
#gpu = #exec.target<units = 132, tile_elements = 16384, gpu = <>, matrix = <types = [f16, tf32]>>
// CHECK-LABEL: tile.kernel @default
// CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} tf32 : tensor<64x32xf32>, tensor<32x64xf32> -> tensor<64x64xf32>
// CHECK-LABEL: tile.kernel @highest
// CHECK-NOT: tile.dot
// CHECK: tile.reduce %{{.*}} dims [2] : tensor<16x16x8xf32> -> tensor<16x16xf32>
module attributes {exec.target = #gpu} {
func.func @main(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %r = exec.fusion "default" (%a, %b) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>, %1: tensor<64x64xf32>):
    %d = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    exec.yield %d : tensor<64x64xf32>
  }
  %s = exec.fusion "highest" (%a, %b) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x64xf32>, %1: tensor<64x64xf32>):
    %d = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    exec.yield %d : tensor<64x64xf32>
  }
  return %r, %s : tensor<64x64xf32>, tensor<64x64xf32>
}
}

// -----

// A row that does not fit: its maximum in a loop whose last turn is ragged, then a loop that reads it again.
#gpu = #exec.target<units = 132, tile_elements = 16384, gpu = <>, matrix = <types = [f16]>>
// CHECK-LABEL: tile.kernel @sub_max grid [64] inputs 1
// CHECK: %[[FIRST:.*]] = tile.load %{{.*}} -> tensor<1x16384xf32>
// CHECK: %[[MAX:.*]] = scf.for %{{.*}} = %c1 to %c7 step %c1 iter_args(%{{.*}} = %[[FIRST]])
// CHECK: arith.select
// CHECK: tile.reduce %[[MAX]]
// CHECK: scf.for %{{.*}} = %c0 to %c7 step %c1 {
// CHECK: tile.store
module attributes {exec.target = #gpu} {
func.func @main(%x: tensor<64x100000xf32>) -> tensor<64x100000xf32> {
  %s = exec.fusion "sub_max" (%x) : (tensor<64x100000xf32>) -> tensor<64x100000xf32> {
  ^bb0(%0: tensor<64x100000xf32>):
    %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %m = stablehlo.reduce(%0 init: %i) applies stablehlo.maximum across dimensions = [1] : (tensor<64x100000xf32>, tensor<f32>) -> tensor<64xf32>
    %e = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<64xf32>) -> tensor<64x100000xf32>
    %f = stablehlo.subtract %0, %e : tensor<64x100000xf32>
    exec.yield %f : tensor<64x100000xf32>
  }
  return %s : tensor<64x100000xf32>
}
}
