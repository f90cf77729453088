// RUN: tilewright-opt %s --tile-pipeline --split-input-file --remarks-filter=".*" --remark-format=emitRemark 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t

/// A left operand with a prologue: a role of four warps reads its raw slot, computes it in the registers from which tcgen05.st writes it
/// to tensor memory, and the unit multiplies from there. The right one has a channel of its own. The accumulator has 256 columns, and a
/// slot of the operand 32.

// CHECK-DAG: #[[RAW:.*]] = #sm.layout<[16 offset:512, 8 offset:64] [64 offset] xor [offset 6:3 to offset 3]>
// CHECK-DAG: #[[LHS:.*]] = #sm.layout<[128 tmem_lane] [64 tmem_col]>
// CHECK-DAG: #[[SIDE:.*]] = #sm.layout<[4 warp, 2 reg:32, 2 reg:2, 8 lane:4] [8 reg:4, 4 lane, 2 reg]>
// CHECK-DAG: #[[SUM:.*]] = #sm.layout<[128 tmem_lane] [128 tmem_col]>
// CHECK-LABEL: sm.kernel @scaled_lhs
//       CHECK:   %[[RAWS:.*]] = sm.channel depth {{.*}} : <<128x64xf16, shared, #[[RAW]]>>
//       CHECK:   %[[RIGHT:.*]] = sm.channel depth {{.*}} : <<64x128xf16, shared, {{.*}}>>
//       CHECK:   %[[LEFT:.*]] = sm.channel depth {{.*}} : <<128x64xf16, tensor, #[[LHS]]>>
//       CHECK:   %[[ACC:.*]] = sm.channel depth {{.*}} : <<128x128xf32, tensor, #[[SUM]]>>
//       CHECK:   sm.role "epilogue" warps
//       CHECK:   sm.role "compute" warps 4
//       CHECK:     %[[SCALE:.*]] = tile.load
//       CHECK:     scf.for {{.*}} iter_args(%[[NOW:.*]] = %[[SCALE]])
//       CHECK:       %[[NEXT:.*]] = tile.load
//       CHECK:       %[[SLOT:.*]] = sm.take %[[RAWS]]
//       CHECK:       %[[TILE:.*]] = sm.copy {{ ?}}ldmatrix %[[SLOT]] : {{.*}} -> tensor<128x64xf16, #[[SIDE]]>
//       CHECK:       sm.free %[[RAWS]]
//       CHECK:       tile.view %[[NOW]]
//       CHECK:       %[[MADE:.*]] = tile.map(%[[TILE]],
//       CHECK:       %[[TO:.*]] = sm.acquire %[[LEFT]]
//       CHECK:       sm.copy {{ ?}}tmem %[[MADE]] to %[[TO]] : tensor<128x64xf16, #[[SIDE]]> to !sm.buffer<128x64xf16, tensor
//       CHECK:       sm.publish %[[LEFT]]
//       CHECK:       scf.yield %[[NEXT]]
//       CHECK:   sm.role "load" warps 1
//       CHECK:     sm.acquire %[[RAWS]]
//       CHECK:     sm.copy {{ ?}}tma
//       CHECK:     sm.publish %[[RAWS]]
//       CHECK:     sm.acquire %[[RIGHT]]
//       CHECK:     sm.copy {{ ?}}tma
//       CHECK:     sm.publish %[[RIGHT]]
//       CHECK:   sm.role "mma" warps 1
//       CHECK:     %[[INTO:.*]] = sm.acquire %[[ACC]]
//       CHECK:     %[[A:.*]] = sm.take %[[LEFT]]
//       CHECK:     %[[B:.*]] = sm.take %[[RIGHT]]
//       CHECK:     sm.mma tcgen05 %[[A]], %[[B]] into %[[INTO]] zero
//       CHECK:     sm.free %[[LEFT]]
//       CHECK:     sm.free %[[RIGHT]]
// WHY: scaled_lhs: its left operand has a prologue: four warps compute it, in 256 cycles for each iteration, and write it to {{[0-9]+}} slots of tensor memory
#blackwell = #exec.target<chip = "sm_100a", units = 148, gpu = <shared_bytes = 232448>, matrix = <unit = tcgen05, registers_move = true, tensor_columns = 512>,
  rates = <f16 = 4096, tf32 = 2048, matrix_latency = 64, copy_latency = 1000, l2_bytes_per_cycle = 10240, memory_bytes_per_cycle = 4300, cluster = 2>>
module attributes {exec.target = #blackwell} {
tile.kernel @scaled_lhs grid [32, 32] inputs 3 {
^bb0(%i: index, %j: index, %a: memref<4096x4096xf16>, %b: memref<4096x4096xf16>, %scale: memref<4096x64xf16>, %d: memref<4096x4096xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %m = affine.apply affine_map<(d0) -> (d0 * 128)>(%i)
  %n = affine.apply affine_map<(d0) -> (d0 * 128)>(%j)
  %zero = tile.map() : () -> tensor<128x128xf32> {
    %cst = arith.constant 0.0 : f32
    tile.yield %cst : f32
  }
  %sum = scf.for %s = %c0 to %c64 step %c1 iter_args(%acc = %zero) -> tensor<128x128xf32> {
    %k = affine.apply affine_map<(d0) -> (d0 * 64)>(%s)
    %q = tile.load %a[%m, %k] : memref<4096x4096xf16> -> tensor<128x64xf16>
    %f = tile.load %scale[%m, %s] : memref<4096x64xf16> -> tensor<128x1xf16>
    %w = tile.view %f affine_map<(r, c) -> (r, 0)> : tensor<128x1xf16> -> tensor<128x64xf16>
    %x = tile.map(%q, %w) : (tensor<128x64xf16>, tensor<128x64xf16>) -> tensor<128x64xf16> {
    ^bb0(%e: f16, %g: f16):
      %o = arith.mulf %e, %g : f16
      tile.yield %o : f16
    }
    %y = tile.load %b[%k, %n] : memref<4096x4096xf16> -> tensor<64x128xf16>
    %p = tile.dot %x, %y, %acc : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    scf.yield %p : tensor<128x128xf32>
  }
  tile.store %sum, %d[%m, %n] : tensor<128x128xf32>, memref<4096x4096xf32>
}
}

// -----

/// The computed side is the right one: the product is computed transposed. Bytes that are contiguous along its rows are pairs of rows, of the
/// operand and of the accumulator. A pair of CTAs computes and multiplies 128 rows each.

// CHECK-DAG: #[[LHS:.*]] = #sm.layout<[2 cta, 8 tmem_lane:16, 8 tmem_lane, 2 tmem_lane:8] [64 tmem_col]>
// CHECK-DAG: #[[PAIRS:.*]] = #sm.layout<[2 cta, 4 warp, 2 reg:32, 8 lane:4, 2 reg:2] [8 reg:4, 4 lane, 2 reg]>
// CHECK-DAG: #[[SUM:.*]] = #sm.layout<[2 cta, 8 tmem_lane:16, 8 tmem_lane, 2 tmem_lane:8] [128 tmem_col]>
// CHECK-LABEL: sm.kernel @widened_rhs
//       CHECK:   sm.channel depth {{.*}} : <<256x64xf16, tensor, #[[LHS]]>>
//       CHECK:   sm.channel depth {{.*}} : <<256x128xf32, tensor, #[[SUM]]>>
//       CHECK:   sm.role "compute" warps 4
//       CHECK:     sm.copy {{ ?}}ldmatrix %{{.*}} : {{.*}} -> tensor<256x64xi8, #[[PAIRS]]>
//       CHECK:     sm.copy {{ ?}}tmem %{{.*}} to %{{.*}} : tensor<256x64xf16, #[[PAIRS]]>
#blackwell = #exec.target<chip = "sm_100a", units = 148, gpu = <shared_bytes = 232448>, matrix = <unit = tcgen05, registers_move = true, tensor_columns = 512>,
  rates = <f16 = 4096, tf32 = 2048, matrix_latency = 64, copy_latency = 1000, l2_bytes_per_cycle = 10240, memory_bytes_per_cycle = 4300, cluster = 2>>
module attributes {exec.target = #blackwell} {
tile.kernel @widened_rhs grid [32, 16] inputs 2 {
^bb0(%i: index, %j: index, %a: memref<4096x4096xf16>, %b: memref<4096x4096xi8>, %d: memref<4096x4096xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %m = affine.apply affine_map<(d0) -> (d0 * 128)>(%i)
  %n = affine.apply affine_map<(d0) -> (d0 * 256)>(%j)
  %zero = tile.map() : () -> tensor<128x256xf32> {
    %cst = arith.constant 0.0 : f32
    tile.yield %cst : f32
  }
  %sum = scf.for %s = %c0 to %c64 step %c1 iter_args(%acc = %zero) -> tensor<128x256xf32> {
    %k = affine.apply affine_map<(d0) -> (d0 * 64)>(%s)
    %x = tile.load %a[%m, %k] : memref<4096x4096xf16> -> tensor<128x64xf16>
    %q = tile.load %b[%k, %n] : memref<4096x4096xi8> -> tensor<64x256xi8>
    %y = tile.map(%q) : (tensor<64x256xi8>) -> tensor<64x256xf16> {
    ^bb0(%e: i8):
      %h = arith.sitofp %e : i8 to f16
      tile.yield %h : f16
    }
    %p = tile.dot %x, %y, %acc : tensor<128x64xf16>, tensor<64x256xf16> -> tensor<128x256xf32>
    scf.yield %p : tensor<128x256xf32>
  }
  tile.store %sum, %d[%m, %n] : tensor<128x256xf32>, memref<4096x4096xf32>
}
}
