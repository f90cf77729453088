// RUN: tilewright-opt %s --tile-pipeline --split-input-file --remarks-filter=".*" --remark-format=emitRemark 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t

#ampere = #exec.target<chip = "sm_80", units = 108, gpu = <shared_bytes = 166912>, matrix = <unit = mma>,
  rates = <f16 = 1024, tf32 = 512, s8 = 2048, matrix_latency = 33, copy_latency = 700, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1103>>

/// All warps do all: they run two slots ahead of themselves. While a step multiplies, the fragments of the next one are
/// loaded, and those of the next iteration under the last step, so a slot is free before its last product.

// CHECK-DAG: #[[LHS:.*]] = #sm.layout<[128 offset:64] [64 offset] xor [offset 6:3 to offset 3]>
// CHECK-DAG: #[[RHS:.*]] = #sm.layout<[64 offset:64] [2 offset:4096, 64 offset] xor [offset 6:3 to offset 3]>
// CHECK-DAG: #[[SUM:.*]] = #sm.layout<[2 warp:2, 4 reg:32, 2 reg:2, 8 lane:4] [2 warp, 8 reg:4, 4 lane, 2 reg]>
// CHECK-DAG: #[[A:.*]] = #sm.layout<[2 warp:2, 4 reg:8, 2 reg:2, 8 lane:4] [2 reg:4, 4 lane, 2 reg] copies [2 warp]>
// CHECK-DAG: #[[B:.*]] = #sm.layout<[2 reg:2, 4 lane, 2 reg] [2 warp, 8 reg:4, 8 lane:4] copies [2 warp:2]>
// CHECK-DAG: #[[AHEAD:.*]] = affine_map<(d0) -> (d0 + 2)>
// CHECK-LABEL: sm.kernel @gemm grid [32, 32] inputs 2 warps 4
//       CHECK:   %[[IN:.*]] = sm.channel depth 3 : <<128x64xf16, shared, #[[LHS]]>, <64x128xf16, shared, #[[RHS]]>>
//       CHECK:   sm.acquire %[[IN]]
//       CHECK:   sm.copy {{ ?}}cp_async
//       CHECK:   sm.copy {{ ?}}cp_async
//       CHECK:   sm.publish
//       CHECK:   sm.acquire %[[IN]]
//       CHECK:   sm.publish
//       CHECK:   %[[ZERO:.*]] = tile.map() : () -> tensor<128x128xf32, #[[SUM]]>
//       CHECK:   %[[SLOT:.*]]:2 = sm.take %[[IN]]
//       CHECK:   %[[A0:.*]] = sm.copy {{ ?}}ldmatrix %[[SLOT]]#0{{.*}} -> tensor<128x16xf16, #[[A]]>
//       CHECK:   %[[B0:.*]] = sm.copy {{ ?}}ldmatrix %[[SLOT]]#1{{.*}} -> tensor<16x128xf16, #[[B]]>
//       CHECK:   %[[END:.*]]:5 = scf.for %[[I:.*]] = %c0{{.*}} to %c62{{.*}} iter_args(%[[ACC:.*]] = %[[ZERO]], %[[X:.*]] = %[[A0]], %[[Y:.*]] = %[[B0]], %[[XS:.*]] = %[[SLOT]]#0, %[[YS:.*]] = %[[SLOT]]#1)
//       CHECK:     %[[LATER:.*]] = affine.apply #[[AHEAD]](%[[I]])
//       CHECK:     sm.acquire
//       CHECK:     sm.publish
//       CHECK:     %[[A1:.*]] = sm.copy {{ ?}}ldmatrix %[[XS]]
//       CHECK:     %[[B1:.*]] = sm.copy {{ ?}}ldmatrix %[[YS]]
//       CHECK:     %[[S0:.*]] = sm.mma mma_sync %[[X]], %[[Y]], %[[ACC]]
// CHECK-COUNT-2:     ldmatrix
//       CHECK:     %[[S1:.*]] = sm.mma mma_sync %[[A1]], %[[B1]], %[[S0]]
// CHECK-COUNT-2:     ldmatrix
//       CHECK:     %[[S2:.*]] = sm.mma mma_sync
//       CHECK:     sm.free
//       CHECK:     %[[NEXT:.*]]:2 = sm.take
//       CHECK:     %[[NA:.*]] = sm.copy {{ ?}}ldmatrix %[[NEXT]]#0
//       CHECK:     %[[NB:.*]] = sm.copy {{ ?}}ldmatrix %[[NEXT]]#1
//       CHECK:     %[[S3:.*]] = sm.mma mma_sync {{.*}}, %[[S2]]
//       CHECK:     scf.yield %[[S3]], %[[NA]], %[[NB]], %[[NEXT]]#0, %[[NEXT]]#1
//   CHECK-NOT:   sm.acquire
//       CHECK:   sm.free
//       CHECK:   sm.take
//       CHECK:   sm.free
//   CHECK-NOT:   sm.take
//       CHECK:   %[[LAST:.*]] = sm.mma mma_sync
//       CHECK:   tile.store %[[LAST]]

// WHY: gemm: 1024 tiles on 108 multiprocessors are
// WHY: gemm: 4 warps in 2 rows and 2 columns multiply 64x64 each
// WHY: gemm: operands has 3 slots
module attributes {exec.target = #ampere} {
tile.kernel @gemm grid [32, 32] inputs 2 {
^bb0(%i: index, %j: index, %a: memref<4096x4096xf16>, %b: memref<4096x4096xf16>, %d: memref<4096x4096xf32>):
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
    %x = tile.load %a[%m, %k] : memref<4096x4096xf16> -> tensor<128x64xf16>
    %y = tile.load %b[%k, %n] : memref<4096x4096xf16> -> tensor<64x128xf16>
    %p = tile.dot %x, %y, %acc : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    scf.yield %p : tensor<128x128xf32>
  }
  tile.store %sum, %d[%m, %n] : tensor<128x128xf32>, memref<4096x4096xf32>
}
}

// -----

#ampere = #exec.target<chip = "sm_80", units = 108, gpu = <shared_bytes = 166912>, matrix = <unit = mma>,
  rates = <f16 = 1024, tf32 = 512, s8 = 2048, matrix_latency = 33, copy_latency = 700, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1103>>

/// Words of f32 whose rows are along N are read one by one, from lines that four rows of eight words share without conflict.

// CHECK-DAG: #[[RHS:.*]] = #sm.layout<[32 offset:32] [2 offset:1024, 32 offset] xor [offset 5:2 to offset 3]>
// CHECK-DAG: #[[PAIRED:.*]] = #sm.layout<[2 warp:2, 2 reg:16, 2 reg:2, 8 lane:4] [2 warp, 2 reg:8, 4 lane, 2 reg, 2 reg:4]>
// CHECK-LABEL: sm.kernel @tf32
//       CHECK:   sm.copy {{ ?}}ldmatrix %{{.*}} -> tensor<64x8xf32
//       CHECK:   sm.copy {{ ?}}ld %{{.*}} : !sm.buffer<32x64xf32, shared, #[[RHS]]> -> tensor<8x64xf32

/// Rows that are no multiples of 4 bytes are no pieces of a copy.

// CHECK-LABEL: tile.kernel @negative_rows_not_aligned
// WHY: negative_rows_not_aligned is not pipelined: its rhs comes in pieces of 2 contiguous and aligned bytes, but a copy takes 4, 8 or 16

/// Bytes along N are turned in pairs: neighbours are at one place of two instructions, so a thread has four columns side by side.

// CHECK-LABEL: sm.kernel @bytes_along_n
//       CHECK:   tile.map() : () -> tensor<64x64xi32, #[[PAIRED]]>
//       CHECK:   sm.copy {{ ?}}ldmatrix %{{.*}} -> tensor<32x64xi8
module attributes {exec.target = #ampere} {
tile.kernel @tf32 grid [2, 2] inputs 2 {
^bb0(%i: index, %j: index, %a: memref<128x128xf32>, %b: memref<128x128xf32>, %d: memref<128x128xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = tile.map() : () -> tensor<64x64xf32> {
    %cst = arith.constant 0.0 : f32
    tile.yield %cst : f32
  }
  %m = affine.apply affine_map<(d0) -> (d0 * 64)>(%i)
  %n = affine.apply affine_map<(d0) -> (d0 * 64)>(%j)
  %sum = scf.for %s = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32> {
    %k = affine.apply affine_map<(d0) -> (d0 * 32)>(%s)
    %x = tile.load %a[%m, %k] : memref<128x128xf32> -> tensor<64x32xf32>
    %y = tile.load %b[%k, %n] : memref<128x128xf32> -> tensor<32x64xf32>
    %p = tile.dot %x, %y, %acc tf32 : tensor<64x32xf32>, tensor<32x64xf32> -> tensor<64x64xf32>
    scf.yield %p : tensor<64x64xf32>
  }
  tile.store %sum, %d[%m, %n] : tensor<64x64xf32>, memref<128x128xf32>
}
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
    %k = affine.apply affine_map<(d0) -> (d0 * 64)>(%s)
    %x = tile.load %a[%i, %k] : memref<1024x1024xf16> -> tensor<128x64xf16>
    %y = tile.load %b[%k, %j] padding %pad : f16 in_bounds [true, false] : memref<1024x1001xf16> -> tensor<64x128xf16>
    %p = tile.dot %x, %y, %acc : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf32>
    scf.yield %p : tensor<128x128xf32>
  }
  tile.store %sum, %d[%i, %j] in_bounds [true, false] : tensor<128x128xf32>, memref<1024x1001xf32>
}
tile.kernel @bytes_along_n grid [1] inputs 2 {
^bb0(%i: index, %a: memref<64x512xi8>, %b: memref<512x64xi8>, %d: memref<64x64xi32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = tile.map() : () -> tensor<64x64xi32> {
    %cst = arith.constant 0 : i32
    tile.yield %cst : i32
  }
  %sum = scf.for %s = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> tensor<64x64xi32> {
    %k = affine.apply affine_map<(d0) -> (d0 * 128)>(%s)
    %x = tile.load %a[%c0, %k] : memref<64x512xi8> -> tensor<64x128xi8>
    %y = tile.load %b[%k, %c0] : memref<512x64xi8> -> tensor<128x64xi8>
    %p = tile.dot %x, %y, %acc : tensor<64x128xi8>, tensor<128x64xi8> -> tensor<64x64xi32>
    scf.yield %p : tensor<64x64xi32>
  }
  tile.store %sum, %d[%c0, %c0] : tensor<64x64xi32>, memref<64x64xi32>
}
}

// -----

#hopper = #exec.target<chip = "sm_90a", units = 132, gpu = <shared_bytes = 232448>, matrix = <unit = wgmma, registers_move = true>,
  rates = <f16 = 2048, tf32 = 1024, matrix_latency = 60, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, cluster = 2>>

/// Copies of f32 could round to tf32, but wgmma reads 32-bit operands only along K, and the rhs is contiguous along N.

// CHECK-LABEL: sm.kernel @tf32_on_hopper
//   CHECK-NOT:   sm.role
//       CHECK:   sm.copy {{ ?}}cp_async
//       CHECK:   sm.mma mma_sync
module attributes {exec.target = #hopper} {
tile.kernel @tf32_on_hopper grid [8, 8] inputs 2 {
^bb0(%i: index, %j: index, %a: memref<1024x1024xf32>, %b: memref<1024x1024xf32>, %d: memref<1024x1024xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = tile.map() : () -> tensor<128x128xf32> {
    %cst = arith.constant 0.0 : f32
    tile.yield %cst : f32
  }
  %sum = scf.for %s = %c0 to %c16 step %c1 iter_args(%acc = %zero) -> tensor<128x128xf32> {
    %x = tile.load %a[%i, %s] : memref<1024x1024xf32> -> tensor<128x32xf32>
    %y = tile.load %b[%s, %j] : memref<1024x1024xf32> -> tensor<32x128xf32>
    %p = tile.dot %x, %y, %acc tf32 : tensor<128x32xf32>, tensor<32x128xf32> -> tensor<128x128xf32>
    scf.yield %p : tensor<128x128xf32>
  }
  tile.store %sum, %d[%i, %j] : tensor<128x128xf32>, memref<1024x1024xf32>
}
}
