// RUN: tilewright-opt %s --tile-pipeline --split-input-file --remarks-filter=".*" --remark-format=emitRemark 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t

#hopper = #exec.target<chip = "sm_90a", units = 132, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, registers_move = true>,
  rates = <f16 = 2048, tf32 = 1024, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 2>>

/// A tile of 256x256 is too much for the registers of one processor, so two share its columns: the rhs
/// has copies in both, the lhs and the accumulator are divided along M. One product stays in flight.

// CHECK-DAG: #[[LHS:.*]] = #sm.layout<[2 cta, 16 offset:512, 8 offset:64] [64 offset] xor [offset 6:3 to offset 3]>
// CHECK-DAG: #[[RHS:.*]] = #sm.layout<[8 offset:512, 8 offset:64] [4 offset:4096, 64 offset] copies [2 cta] xor [offset 6:3 to offset 3]>
// CHECK-DAG: #[[ACC:.*]] = #sm.layout<[2 cta, 2 group, 4 warp, 2 reg:2, 8 lane:4] [32 reg:4, 4 lane, 2 reg]>
// CHECK-LABEL: sm.kernel @gemm grid [16, 16] inputs 3 warps 12 cluster [2, 1, 1] persistent "static" raster 8 {
//       CHECK:   %[[IN:.*]] = sm.channel depth [[DEPTH:3|4]] : <<256x64xf16, shared, #[[LHS]]>, <64x256xf16, shared, #[[RHS]]>>
//       CHECK:   sm.role "load" warps 4 registers 40
//       CHECK:     scf.for
//       CHECK:       %[[EMPTY:.*]]:2 = sm.acquire %[[IN]]
//       CHECK:       sm.copy {{ ?}}tma %{{.*}} to %[[EMPTY]]#0
//       CHECK:       sm.copy {{ ?}}tma %{{.*}} to %[[EMPTY]]#1
//       CHECK:       sm.publish %[[IN]]
//       CHECK:   sm.role "math" warps 8 registers 232
//       CHECK:     sm.take
//       CHECK:     %[[FIRST:.*]] = sm.mma wgmma
//       CHECK:     %[[SUM:.*]] = scf.for %{{.*}} = %c1{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[ACCUMULATOR:.*]] = %[[FIRST]])
//       CHECK:       sm.take
//       CHECK:       sm.mma wgmma %{{.*}}, %{{.*}}, %[[ACCUMULATOR]]
//       CHECK:       sm.free
//       CHECK:     sm.free
//       CHECK:     %[[BIAS:.*]] = tile.load %{{.*}} -> tensor<256xf32
//       CHECK:     %[[WIDE:.*]] = tile.view %[[BIAS]] {{.*}} -> tensor<256x256xf32, #[[ACC]]>
//       CHECK:     tile.map(%[[SUM]], %[[WIDE]])
//       CHECK:     tile.store

// WHY: gemm: 512 tiles
// WHY: gemm: 2 multiprocessors share the columns of their tiles
// WHY: gemm: 132 CTAs compute one tile after the other, in {{.*}} cycles: with a CTA for each tile it would be
// WHY: gemm: points go down 8 rows before the next column
// WHY: gemm: an iteration takes
// WHY: gemm: operands has
// WHY: gemm: a thread of math gets 232 registers and needs
module attributes {exec.target = #hopper} {
tile.kernel @gemm grid [16, 16] inputs 3 {
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

// -----

#hopper = #exec.target<chip = "sm_90a", units = 4, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, registers_move = true>,
  rates = <f16 = 2048, tf32 = 1024, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 1>>

/// A result of 16 bits in several waves: through lines of shared memory, and by the copy engine.

// CHECK-DAG: #[[LINES:.*]] = #sm.layout<[16 offset:512, 8 offset:64] [2 offset:8192, 64 offset] xor [offset 6:3 to offset 3]>
// CHECK-LABEL: sm.kernel @narrow grid [8, 8] inputs 2 warps 12 persistent "static" raster 2 {
//       CHECK:   %[[OUT:.*]] = sm.channel depth 1 : <<128x128xf16, shared, #[[LINES]]>>
//       CHECK:     %[[HALF:.*]] = tile.map
//       CHECK:     %[[EMPTY:.*]] = sm.acquire %[[OUT]]
//       CHECK:     sm.copy {{ ?}}stmatrix %[[HALF]] to %[[EMPTY]]
//       CHECK:     sm.publish %[[OUT]]
//       CHECK:     %[[FULL:.*]] = sm.take %[[OUT]]
//       CHECK:     sm.copy {{ ?}}tma %[[FULL]] to %{{.*}}[%{{.*}}, %{{.*}}]
//       CHECK:     sm.free %[[OUT]]
//   CHECK-NOT:     tile.store
// WHY: narrow: the result is staged in shared memory and stored by the copy engine
module attributes {exec.target = #hopper} {
tile.kernel @narrow grid [8, 8] inputs 2 {
^bb0(%i: index, %j: index, %a: memref<1024x64xf16>, %b: memref<1024x64xf16>, %d: memref<1024x1024xf16>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = affine.apply affine_map<(d0) -> (d0 * 128)>(%i)
  %n = affine.apply affine_map<(d0) -> (d0 * 128)>(%j)
  %zero = tile.map() : () -> tensor<128x128xf32> {
    %cst = arith.constant 0.0 : f32
    tile.yield %cst : f32
  }
  %pad = arith.constant 0.0 : f16
  %sum = scf.for %s = %c0 to %c1 step %c1 iter_args(%acc = %zero) -> tensor<128x128xf32> {
    %k = affine.apply affine_map<(d0) -> (d0 * 64)>(%s)
    %x = tile.load %a[%m, %k] : memref<1024x64xf16> -> tensor<128x64xf16>
    %y = tile.load %b[%n, %k] padding %pad : f16 in_bounds [false, true] : memref<1024x64xf16> -> tensor<128x64xf16>
    %t = tile.view %y affine_map<(r, c) -> (c, r)> : tensor<128x64xf16> -> tensor<64x128xf16>
    %p = tile.dot %x, %t, %acc : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    scf.yield %p : tensor<128x128xf32>
  }
  %h = tile.map(%sum) : (tensor<128x128xf32>) -> tensor<128x128xf16> {
  ^bb0(%e: f32):
    %g = arith.truncf %e : f32 to f16
    tile.yield %g : f16
  }
  tile.store %h, %d[%m, %n] in_bounds [true, false] : tensor<128x128xf16>, memref<1024x1024xf16>
}
}

// -----

#hopper = #exec.target<chip = "sm_90a", units = 4, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, registers_move = true>,
  rates = <f16 = 2048, tf32 = 1024, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 1>>

/// Rows of 1004 elements are 2008 bytes apart, which is no multiple of 16.

// CHECK-LABEL: sm.kernel @negative_narrow_rows
//       CHECK:   sm.convert
//       CHECK:   tile.store
// WHY: negative_narrow_rows: the result is stored from registers: its rows are 2008 bytes apart, but the copy engine requires multiples of 16
module attributes {exec.target = #hopper} {
tile.kernel @negative_narrow_rows grid [8, 8] inputs 2 {
^bb0(%i: index, %j: index, %a: memref<1024x64xf16>, %b: memref<1004x64xf16>, %d: memref<1024x1004xf16>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = affine.apply affine_map<(d0) -> (d0 * 128)>(%i)
  %n = affine.apply affine_map<(d0) -> (d0 * 128)>(%j)
  %zero = tile.map() : () -> tensor<128x128xf32> {
    %cst = arith.constant 0.0 : f32
    tile.yield %cst : f32
  }
  %pad = arith.constant 0.0 : f16
  %sum = scf.for %s = %c0 to %c1 step %c1 iter_args(%acc = %zero) -> tensor<128x128xf32> {
    %k = affine.apply affine_map<(d0) -> (d0 * 64)>(%s)
    %x = tile.load %a[%m, %k] : memref<1024x64xf16> -> tensor<128x64xf16>
    %y = tile.load %b[%n, %k] padding %pad : f16 in_bounds [false, true] : memref<1004x64xf16> -> tensor<128x64xf16>
    %t = tile.view %y affine_map<(r, c) -> (c, r)> : tensor<128x64xf16> -> tensor<64x128xf16>
    %p = tile.dot %x, %t, %acc : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    scf.yield %p : tensor<128x128xf32>
  }
  %h = tile.map(%sum) : (tensor<128x128xf32>) -> tensor<128x128xf16> {
  ^bb0(%e: f32):
    %g = arith.truncf %e : f32 to f16
    tile.yield %g : f16
  }
  tile.store %h, %d[%m, %n] in_bounds [true, false] : tensor<128x128xf16>, memref<1024x1004xf16>
}
}

// -----

#hopper = #exec.target<chip = "sm_90a", units = 132, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, registers_move = true>,
  rates = <f16 = 2048, tf32 = 1024, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 2>>

/// One wave: a CTA for each tile, in the grid's own order.

// CHECK-LABEL: sm.kernel @one_wave grid [3, 4, 4] inputs 2 warps 8 cluster [2, 1, 1] {
// WHY: one_wave: each tile has a CTA of its own
module attributes {exec.target = #hopper} {
tile.kernel @one_wave grid [3, 4, 4] inputs 2 {
^bb0(%h: index, %i: index, %j: index, %a: memref<3x512x64xf16>, %b: memref<3x64x512xf16>, %d: memref<3x512x512xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = affine.apply affine_map<(d0) -> (d0 * 128)>(%i)
  %n = affine.apply affine_map<(d0) -> (d0 * 128)>(%j)
  %zero = tile.map() : () -> tensor<128x128xf32> {
    %cst = arith.constant 0.0 : f32
    tile.yield %cst : f32
  }
  %sum = scf.for %s = %c0 to %c1 step %c1 iter_args(%acc = %zero) -> tensor<128x128xf32> {
    %k = affine.apply affine_map<(d0) -> (d0 * 64)>(%s)
    %x = tile.load %a[%h, %m, %k] : memref<3x512x64xf16> -> tensor<1x128x64xf16>
    %y = tile.load %b[%h, %k, %n] : memref<3x64x512xf16> -> tensor<1x64x128xf16>
    %x1 = tile.view %x affine_map<(r, c) -> (0, r, c)> : tensor<1x128x64xf16> -> tensor<128x64xf16>
    %y1 = tile.view %y affine_map<(r, c) -> (0, r, c)> : tensor<1x64x128xf16> -> tensor<64x128xf16>
    %p = tile.dot %x1, %y1, %acc : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    scf.yield %p : tensor<128x128xf32>
  }
  %r = tile.view %sum affine_map<(g, r, c) -> (r, c)> : tensor<128x128xf32> -> tensor<1x128x128xf32>
  tile.store %r, %d[%h, %m, %n] : tensor<1x128x128xf32>, memref<3x512x512xf32>
}
}

// -----

#hopper = #exec.target<chip = "sm_90a", units = 132, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, registers_move = true>,
  rates = <f16 = 2048, tf32 = 1024, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 2>>

/// Where the plan or the engines say no, the kernel stays and the reason is said.

// CHECK-LABEL: tile.kernel @negative_rows_not_aligned
// WHY: negative_rows_not_aligned is not warp-specialized: rows of its rhs are 2002 bytes apart, but the copy engine requires multiples of 16
module attributes {exec.target = #hopper} {
tile.kernel @negative_rows_not_aligned grid [8, 8] inputs 2 {
^bb0(%i: index, %j: index, %a: memref<1024x1024xf16>, %b: memref<1024x1001xf16>, %d: memref<1024x1001xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %pad = arith.constant 0.0 : f16
  %zero = tile.map() : () -> tensor<128x128xf32> {
    %cst = arith.constant 0.0 : f32
    tile.yield %cst : f32
  }
  %sum = scf.for %s = %c0 to %c16 step %c1 iter_args(%acc = %zero) -> tensor<128x128xf32> {
    %x = tile.load %a[%i, %s] : memref<1024x1024xf16> -> tensor<128x64xf16>
    %y = tile.load %b[%s, %j] padding %pad : f16 in_bounds [true, false] : memref<1024x1001xf16> -> tensor<64x128xf16>
    %p = tile.dot %x, %y, %acc : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    scf.yield %p : tensor<128x128xf32>
  }
  tile.store %sum, %d[%i, %j] in_bounds [true, false] : tensor<128x128xf32>, memref<1024x1001xf32>
}
}

// -----

#hopper = #exec.target<chip = "sm_90a", units = 132, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, registers_move = true>,
  rates = <f16 = 2048, tf32 = 1024, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 2>>

/// An operand with a prologue goes through registers. If it is the right one, the product is computed transposed: bytes that are
/// contiguous along N are pairs of the instruction's rows, and the accumulator's rows are the result's columns. Scales of
/// groups are loaded an iteration ahead.

// CHECK-DAG: #[[RAW:.*]] = #sm.layout<[2 cta, 64 offset] [8 offset:512, 8 offset:64] xor [offset 7:2 to offset 4]>
// CHECK-DAG: #[[PAIRS:.*]] = #sm.layout<[2 cta, 4 warp, 8 lane:4, 2 reg:2] [4 reg:8, 2 reg:4, 4 lane, 2 reg]>
// CHECK-LABEL: sm.kernel @scaled_rhs
//       CHECK:   sm.channel depth {{.*}} : <<128x64xi8, shared, #[[RAW]]>, <64x128xf16, shared, {{.*}}>>
//       CHECK:   sm.role "load"
//       CHECK:     sm.copy {{ ?}}tma %{{.*}} to %{{.*}}#0 transposed : memref<1024x1024xi8>
//       CHECK:     sm.copy {{ ?}}tma %{{.*}} to %{{.*}}#1 transposed : memref<1024x1024xf16>
//       CHECK:   sm.role "math"
//       CHECK:     tile.load %{{.*}} -> tensor<1x128xf16
//       CHECK:     sm.mma wgmma
//       CHECK:     scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[SCALE:.*]] = %{{.*}})
//       CHECK:       %[[NEXT:.*]] = tile.load %{{.*}} -> tensor<1x128xf16
//       CHECK:       %[[SLOT:.*]]:2 = sm.take
//       CHECK:       sm.copy {{ ?}}ldmatrix %[[SLOT]]#0 : {{.*}} -> tensor<128x64xi8, #[[PAIRS]]>
//       CHECK:       tile.view %[[SCALE]]
//       CHECK:       %[[SIDE:.*]] = tile.view {{.*}} -> tensor<128x64xf16
//       CHECK:       sm.mma wgmma %[[SIDE]], %[[SLOT]]#1, %[[ACC]] : tensor<128x64xf16, {{.*}}>, !sm.buffer<64x128xf16
//       CHECK:       scf.yield %{{.*}}, %[[NEXT]]
//       CHECK:     tile.view {{.*}} -> tensor<128x128xf32
//       CHECK:     tile.store
// WHY: scaled_rhs: its left operand goes through registers, because it has a prologue

/// On the left nothing is exchanged; bytes along K are read two by two.

// CHECK-LABEL: sm.kernel @converted_lhs
//       CHECK:   sm.copy {{ ?}}ld %{{.*}}#0 : !sm.buffer<128x64xf8E4M3FN, shared, {{.*}}> -> tensor<128x64xf8E4M3FN

/// If both operands are computed, the right one is computed by four warps of their own, which write it to shared memory
/// (pipeline-both-computed.mlir).

// CHECK-LABEL: sm.kernel @both_computed
//       CHECK:   sm.role "load"
//       CHECK:   sm.role "math"
//       CHECK:     sm.copy {{ ?}}ldmatrix
//       CHECK:   sm.role "compute" warps 4
// WHY: both_computed: both operands have a prologue: the left one goes through registers, 32 per thread, and four warps compute the right one
module attributes {exec.target = #hopper} {
tile.kernel @scaled_rhs grid [8, 8] inputs 3 {
^bb0(%i: index, %j: index, %a: memref<1024x1024xf16>, %b: memref<1024x1024xi8>, %scale: memref<16x1024xf16>, %d: memref<1024x1024xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %m = affine.apply affine_map<(d0) -> (d0 * 128)>(%i)
  %n = affine.apply affine_map<(d0) -> (d0 * 128)>(%j)
  %zero = tile.map() : () -> tensor<128x128xf32> {
    %cst = arith.constant 0.0 : f32
    tile.yield %cst : f32
  }
  %sum = scf.for %s = %c0 to %c16 step %c1 iter_args(%acc = %zero) -> tensor<128x128xf32> {
    %k = affine.apply affine_map<(d0) -> (d0 * 64)>(%s)
    %x = tile.load %a[%m, %k] : memref<1024x1024xf16> -> tensor<128x64xf16>
    %q = tile.load %b[%k, %n] : memref<1024x1024xi8> -> tensor<64x128xi8>
    %f = tile.load %scale[%s, %n] : memref<16x1024xf16> -> tensor<1x128xf16>
    %w = tile.view %f affine_map<(r, c) -> (0, c)> : tensor<1x128xf16> -> tensor<64x128xf16>
    %y = tile.map(%q, %w) : (tensor<64x128xi8>, tensor<64x128xf16>) -> tensor<64x128xf16> {
    ^bb0(%e: i8, %g: f16):
      %h = arith.sitofp %e : i8 to f16
      %o = arith.mulf %h, %g : f16
      tile.yield %o : f16
    }
    %p = tile.dot %x, %y, %acc : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    scf.yield %p : tensor<128x128xf32>
  }
  tile.store %sum, %d[%m, %n] : tensor<128x128xf32>, memref<1024x1024xf32>
}
tile.kernel @converted_lhs grid [8, 8] inputs 2 {
^bb0(%i: index, %j: index, %a: memref<1024x1024xf8E4M3FN>, %b: memref<1024x1024xf16>, %d: memref<1024x1024xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %m = affine.apply affine_map<(d0) -> (d0 * 128)>(%i)
  %n = affine.apply affine_map<(d0) -> (d0 * 128)>(%j)
  %zero = tile.map() : () -> tensor<128x128xf32> {
    %cst = arith.constant 0.0 : f32
    tile.yield %cst : f32
  }
  %sum = scf.for %s = %c0 to %c16 step %c1 iter_args(%acc = %zero) -> tensor<128x128xf32> {
    %k = affine.apply affine_map<(d0) -> (d0 * 64)>(%s)
    %q = tile.load %a[%m, %k] : memref<1024x1024xf8E4M3FN> -> tensor<128x64xf8E4M3FN>
    %x = tile.map(%q) : (tensor<128x64xf8E4M3FN>) -> tensor<128x64xf16> {
    ^bb0(%e: f8E4M3FN):
      %h = arith.extf %e : f8E4M3FN to f16
      tile.yield %h : f16
    }
    %y = tile.load %b[%k, %n] : memref<1024x1024xf16> -> tensor<64x128xf16>
    %p = tile.dot %x, %y, %acc : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    scf.yield %p : tensor<128x128xf32>
  }
  tile.store %sum, %d[%m, %n] : tensor<128x128xf32>, memref<1024x1024xf32>
}
tile.kernel @both_computed grid [8, 8] inputs 2 {
^bb0(%i: index, %j: index, %a: memref<1024x1024xf16>, %b: memref<1024x1024xf16>, %d: memref<1024x1024xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %m = affine.apply affine_map<(d0) -> (d0 * 128)>(%i)
  %n = affine.apply affine_map<(d0) -> (d0 * 128)>(%j)
  %zero = tile.map() : () -> tensor<128x128xf32> {
    %cst = arith.constant 0.0 : f32
    tile.yield %cst : f32
  }
  %sum = scf.for %s = %c0 to %c16 step %c1 iter_args(%acc = %zero) -> tensor<128x128xf32> {
    %k = affine.apply affine_map<(d0) -> (d0 * 64)>(%s)
    %x = tile.load %a[%m, %k] : memref<1024x1024xf16> -> tensor<128x64xf16>
    %y = tile.load %b[%k, %n] : memref<1024x1024xf16> -> tensor<64x128xf16>
    %xx = tile.map(%x) : (tensor<128x64xf16>) -> tensor<128x64xf16> {
    ^bb0(%e: f16):
      %h = arith.negf %e : f16
      tile.yield %h : f16
    }
    %yy = tile.map(%y) : (tensor<64x128xf16>) -> tensor<64x128xf16> {
    ^bb0(%e: f16):
      %h = arith.negf %e : f16
      tile.yield %h : f16
    }
    %p = tile.dot %xx, %yy, %acc : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    scf.yield %p : tensor<128x128xf32>
  }
  tile.store %sum, %d[%m, %n] : tensor<128x128xf32>, memref<1024x1024xf32>
}
}

// -----

#hopper = #exec.target<chip = "sm_90a", units = 132, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, registers_move = true>,
  rates = <f16 = 2048, tf32 = 1024, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 1>>

/// Copies of f32 round to tf32. A line of 128 bytes has 32 elements, and both operands are contiguous along K.

// CHECK-DAG: #[[ROWS:.*]] = #sm.layout<[16 offset:256, 8 offset:32] [32 offset] xor [offset 5:3 to offset 2]>
// CHECK-DAG: #[[COLUMNS:.*]] = #sm.layout<[32 offset] [16 offset:256, 8 offset:32] xor [offset 5:3 to offset 2]>
// CHECK-LABEL: sm.kernel @tf32
//       CHECK:   sm.channel depth {{.*}} : <<128x32xf32, shared, #[[ROWS]]>, <32x128xf32, shared, #[[COLUMNS]]>>
//       CHECK:   sm.copy {{ ?}}tma %{{.*}} to %{{.*}} tf32 : memref<1024x512xf32>
//       CHECK:   sm.copy {{ ?}}tma %{{.*}} to %{{.*}} transposed tf32 : memref<1024x512xf32>
//       CHECK:   sm.mma wgmma
module attributes {exec.target = #hopper} {
tile.kernel @tf32 grid [8, 8] inputs 2 {
^bb0(%i: index, %j: index, %a: memref<1024x512xf32>, %b: memref<1024x512xf32>, %d: memref<1024x1024xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %m = affine.apply affine_map<(d0) -> (d0 * 128)>(%i)
  %n = affine.apply affine_map<(d0) -> (d0 * 128)>(%j)
  %zero = tile.map() : () -> tensor<128x128xf32> {
    %cst = arith.constant 0.0 : f32
    tile.yield %cst : f32
  }
  %sum = scf.for %s = %c0 to %c16 step %c1 iter_args(%acc = %zero) -> tensor<128x128xf32> {
    %k = affine.apply affine_map<(d0) -> (d0 * 32)>(%s)
    %x = tile.load %a[%m, %k] : memref<1024x512xf32> -> tensor<128x32xf32>
    %y = tile.load %b[%n, %k] : memref<1024x512xf32> -> tensor<128x32xf32>
    %t = tile.view %y affine_map<(r, c) -> (c, r)> : tensor<128x32xf32> -> tensor<32x128xf32>
    %p = tile.dot %x, %t, %acc tf32 : tensor<128x32xf32>, tensor<32x128xf32> -> tensor<128x128xf32>
    scf.yield %p : tensor<128x128xf32>
  }
  tile.store %sum, %d[%m, %n] : tensor<128x128xf32>, memref<1024x1024xf32>
}
}
