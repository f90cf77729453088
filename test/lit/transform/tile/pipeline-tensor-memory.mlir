// RUN: tilewright-opt %s --tile-pipeline --split-input-file --remarks-filter=".*" --remark-format=emitRemark 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t

/// The accumulator is in tensor memory, in two slots, because the next point is multiplied during the epilogue. 128x256 are more
/// registers than 128 threads have, so eight warps read it, each one half of the lanes of its quarter.

// CHECK-DAG: #[[LHS:.*]] = #sm.layout<[16 offset:512, 8 offset:64] [64 offset] xor [offset 6:3 to offset 3]>
// CHECK-DAG: #[[RHS:.*]] = #sm.layout<[8 offset:512, 8 offset:64] [4 offset:4096, 64 offset] xor [offset 6:3 to offset 3]>
// CHECK-DAG: #[[SUM:.*]] = #sm.layout<[128 tmem_lane] [256 tmem_col]>
// CHECK-DAG: #[[REGS:.*]] = #sm.layout<[4 warp, 2 group, 2 reg:2, 8 lane:4] [32 reg:4, 4 lane, 2 reg]>
// CHECK-LABEL: sm.kernel @gemm grid [32, 16] inputs 3 warps 10 persistent "stealing"
//       CHECK:   %[[IN:.*]] = sm.channel depth {{.*}} : <<128x64xf16, shared, #[[LHS]]>, <64x256xf16, shared, #[[RHS]]>>
//       CHECK:   %[[ACC:.*]] = sm.channel depth 2 : <<128x256xf32, tensor, #[[SUM]]>>
//       CHECK:   sm.role "epilogue" warps 8 registers 200
//       CHECK:     %[[FULL:.*]] = sm.take %[[ACC]]
//       CHECK:     %[[TILE:.*]] = sm.copy {{ ?}}tmem %[[FULL]] : {{.*}} -> tensor<128x256xf32, #[[REGS]]>
//       CHECK:     sm.free %[[ACC]]
//       CHECK:     tile.map(%[[TILE]],
//       CHECK:     tile.store
//       CHECK:   sm.role "load" warps 1
//       CHECK:     sm.copy {{ ?}}tma
//       CHECK:     sm.copy {{ ?}}tma
//       CHECK:   sm.role "mma" warps 1
//       CHECK:     %[[INTO:.*]] = sm.acquire %[[ACC]]
//       CHECK:     %[[SLOT:.*]]:2 = sm.take %[[IN]]
//       CHECK:     sm.mma tcgen05 %[[SLOT]]#0, %[[SLOT]]#1 into %[[INTO]] zero %{{.*}} :
//       CHECK:     sm.free %[[IN]]
//       CHECK:     scf.for
//       CHECK:       %[[NEXT:.*]]:2 = sm.take %[[IN]]
//       CHECK:       sm.mma tcgen05 %[[NEXT]]#0, %[[NEXT]]#1 into %[[INTO]] :
//       CHECK:       sm.free %[[IN]]
//       CHECK:     sm.publish %[[ACC]]

// WHY: gemm: epilogue has 2 groups of 4 warps: with one group fewer a thread would need 312 registers, but the limit is 255
#blackwell = #exec.target<chip = "sm_100a", units = 148, gpu = <shared_bytes = 232448>, matrix = <unit = tcgen05, registers_move = true, tensor_columns = 512>,
  rates = <f16 = 4096, tf32 = 2048, matrix_latency = 64, copy_latency = 1000, l2_bytes_per_cycle = 10240, memory_bytes_per_cycle = 4300, cluster = 2>>
module attributes {exec.target = #blackwell} {
tile.kernel @gemm grid [32, 16] inputs 3 {
^bb0(%i: index, %j: index, %a: memref<4096x4096xf16>, %b: memref<4096x4096xf16>, %bias: memref<4096xf32>, %d: memref<4096x4096xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %m = affine.apply affine_map<(d0) -> (d0 * 128)>(%i)
  %n = affine.apply affine_map<(d0) -> (d0 * 256)>(%j)
  %z = tile.load %bias[%n] : memref<4096xf32> -> tensor<256xf32>
  %zero = tile.map() : () -> tensor<128x256xf32> {
    %cst = arith.constant 0.0 : f32
    tile.yield %cst : f32
  }
  %sum = scf.for %s = %c0 to %c64 step %c1 iter_args(%acc = %zero) -> tensor<128x256xf32> {
    %k = affine.apply affine_map<(d0) -> (d0 * 64)>(%s)
    %x = tile.load %a[%m, %k] : memref<4096x4096xf16> -> tensor<128x64xf16>
    %y = tile.load %b[%k, %n] : memref<4096x4096xf16> -> tensor<64x256xf16>
    %p = tile.dot %x, %y, %acc : tensor<128x64xf16>, tensor<64x256xf16> -> tensor<128x256xf32>
    scf.yield %p : tensor<128x256xf32>
  }
  %w = tile.view %z affine_map<(r, c) -> (c)> : tensor<256xf32> -> tensor<128x256xf32>
  %r = tile.map(%sum, %w) : (tensor<128x256xf32>, tensor<128x256xf32>) -> tensor<128x256xf32> {
  ^bb0(%e: f32, %f: f32):
    %g = arith.addf %e, %f : f32
    tile.yield %g : f32
  }
  tile.store %r, %d[%m, %n] : tensor<128x256xf32>, memref<4096x4096xf32>
}
}

// -----

/// A tile of 256 rows is that of two CTAs, which multiply together: each has half of the rows of one operand, half of the columns of the other,
/// and half of the accumulator's rows.

// CHECK-DAG: #[[LHS:.*]] = #sm.layout<[2 cta, 16 offset:512, 8 offset:64] [64 offset] xor [offset 6:3 to offset 3]>
// CHECK-DAG: #[[RHS:.*]] = #sm.layout<[8 offset:512, 8 offset:64] [2 cta, 2 offset:4096, 64 offset] xor [offset 6:3 to offset 3]>
// CHECK-DAG: #[[SUM:.*]] = #sm.layout<[2 cta, 128 tmem_lane] [256 tmem_col]>
// CHECK-DAG: #[[REGS:.*]] = #sm.layout<[2 cta, 4 warp, 2 group, 2 reg:2, 8 lane:4] [32 reg:4, 4 lane, 2 reg]>
// CHECK-LABEL: sm.kernel @pair grid [16, 16] inputs 3 warps 10 cluster [2, 1, 1] persistent "stealing"
//       CHECK:   sm.channel depth {{.*}} : <<256x64xf16, shared, #[[LHS]]>, <64x256xf16, shared, #[[RHS]]>>
//       CHECK:   sm.channel depth 2 : <<256x256xf32, tensor, #[[SUM]]>>
//       CHECK:     sm.copy {{ ?}}tmem %{{.*}} : {{.*}} -> tensor<256x256xf32, #[[REGS]]>
//       CHECK:     sm.mma tcgen05
// WHY: pair: 2 multiprocessors share the columns of their tiles
#blackwell = #exec.target<chip = "sm_100a", units = 148, gpu = <shared_bytes = 232448>, matrix = <unit = tcgen05, registers_move = true, tensor_columns = 512>,
  rates = <f16 = 4096, tf32 = 2048, matrix_latency = 64, copy_latency = 1000, l2_bytes_per_cycle = 10240, memory_bytes_per_cycle = 4300, cluster = 2>>
module attributes {exec.target = #blackwell} {
tile.kernel @pair grid [16, 16] inputs 3 {
^bb0(%i: index, %j: index, %a: memref<4096x4096xf16>, %b: memref<4096x4096xf16>, %bias: memref<4096xf32>, %d: memref<4096x4096xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %m = affine.apply affine_map<(d0) -> (d0 * 256)>(%i)
  %n = affine.apply affine_map<(d0) -> (d0 * 256)>(%j)
  %z = tile.load %bias[%n] : memref<4096xf32> -> tensor<256xf32>
  %zero = tile.map() : () -> tensor<256x256xf32> {
    %cst = arith.constant 0.0 : f32
    tile.yield %cst : f32
  }
  %sum = scf.for %s = %c0 to %c64 step %c1 iter_args(%acc = %zero) -> tensor<256x256xf32> {
    %k = affine.apply affine_map<(d0) -> (d0 * 64)>(%s)
    %x = tile.load %a[%m, %k] : memref<4096x4096xf16> -> tensor<256x64xf16>
    %y = tile.load %b[%k, %n] : memref<4096x4096xf16> -> tensor<64x256xf16>
    %p = tile.dot %x, %y, %acc : tensor<256x64xf16>, tensor<64x256xf16> -> tensor<256x256xf32>
    scf.yield %p : tensor<256x256xf32>
  }
  %w = tile.view %z affine_map<(r, c) -> (c)> : tensor<256xf32> -> tensor<256x256xf32>
  %r = tile.map(%sum, %w) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32> {
  ^bb0(%e: f32, %f: f32):
    %g = arith.addf %e, %f : f32
    tile.yield %g : f32
  }
  tile.store %r, %d[%m, %n] : tensor<256x256xf32>, memref<4096x4096xf32>
}
}
