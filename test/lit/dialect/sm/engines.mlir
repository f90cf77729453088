// RUN: tilewright-opt %s | FileCheck %s
// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s
// RUN: tilewright-opt %s --mlir-print-op-generic | tilewright-opt | FileCheck %s

#a = #sm.layout<[2 cta, 128 offset:64] [64 offset] xor [offset 6:3 to offset 3]>
#b = #sm.layout<[64 offset:64] [4 offset:4096, 64 offset] copies [2 cta] xor [offset 6:3 to offset 3]>
#acc = #sm.layout<[2 cta, 2 group, 4 warp, 2 reg:2, 8 lane:4] [32 reg:4, 4 lane, 2 reg]>

!x = !sm.buffer<256x64xf16, shared, #a>
!y = !sm.buffer<64x256xf16, shared, #b>
!in = !sm.channel<!x, !y>

/// One role fills slots by TMA, the other multiplies from them with one product in flight. A
/// buffer with copies on `cta` is multicast.

// CHECK-LABEL: sm.kernel @gemm grid [16, 16] inputs 2 warps 12 cluster [2, 1, 1] persistent "static" raster 8 {
//       CHECK:   %[[IN:.*]] = sm.channel depth 4 : <<256x64xf16, shared, #{{.*}}>, <64x256xf16, shared, #{{.*}}>>
//       CHECK:   sm.role "load" warps 4 registers 40 {
//       CHECK:     %[[SLOT:.*]]:2 = sm.acquire %[[IN]]
//       CHECK:     sm.copy tma %{{.*}}[%{{.*}}, %{{.*}}] to %[[SLOT]]#0 : memref<4096x4096xf16> to !sm.buffer
//       CHECK:     sm.publish %[[IN]]
//       CHECK:   sm.role "math" warps 8 registers 232 {
//       CHECK:     %[[FULL:.*]]:2 = sm.take %[[IN]]
//       CHECK:     %[[FIRST:.*]] = sm.mma wgmma %[[FULL]]#0, %[[FULL]]#1 : {{.*}} -> tensor<256x256xf32
//       CHECK:       sm.mma wgmma %{{.*}}#0, %{{.*}}#1, %{{.*}} : {{.*}} -> tensor<256x256xf32
//       CHECK:       sm.free %[[IN]]
sm.kernel @gemm grid [16, 16] inputs 2 warps 12 cluster [2, 1, 1] persistent "static" raster 8 {
^bb0(%i: index, %j: index, %a: memref<4096x4096xf16>, %b: memref<4096x4096xf16>, %d: memref<4096x4096xf32>):
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c4096 = arith.constant 4096 : index
  %in = sm.channel depth 4 : !in
  sm.role "load" warps 4 registers 40 {
    scf.for %k = %c0 to %c4096 step %c64 {
      %slot:2 = sm.acquire %in : !in
      sm.copy tma %a[%i, %k] to %slot#0 : memref<4096x4096xf16> to !x
      sm.copy tma %b[%k, %j] to %slot#1 : memref<4096x4096xf16> to !y
      sm.publish %in : !in
    }
  }
  sm.role "math" warps 8 registers 232 {
    %x:2 = sm.take %in : !in
    %first = sm.mma wgmma %x#0, %x#1 : !x, !y -> tensor<256x256xf32, #acc>
    %sum = scf.for %k = %c64 to %c4096 step %c64 iter_args(%acc = %first) -> tensor<256x256xf32, #acc> {
      %y:2 = sm.take %in : !in
      %s = sm.mma wgmma %y#0, %y#1, %acc : !x, !y -> tensor<256x256xf32, #acc>
      sm.free %in : !in
      scf.yield %s : tensor<256x256xf32, #acc>
    }
    sm.free %in : !in
    tile.store %sum, %d[%i, %j] : tensor<256x256xf32, #acc>, memref<4096x4096xf32>
  }
}

#lanes = #sm.layout<[2 cta, 128 tmem_lane] [256 tmem_col]>
#rows = #sm.layout<[2 cta, 4 warp, 32 lane] [32 reg]>

/// An accumulator in tensor memory is a buffer too, and a turn a channel of nothing.

// CHECK-LABEL: sm.kernel @tensor_memory
//       CHECK:   sm.channel depth 1 filled 1 : <>
//       CHECK:   sm.mma tcgen05 %{{.*}}#0, %{{.*}}#1 into %{{.*}} zero %{{.*}} : !sm.buffer{{.*}}, !sm.buffer{{.*}}, !sm.buffer<256x256xf32, tensor
//       CHECK:   %{{.*}} = sm.copy tmem %{{.*}}[%{{.*}}, %{{.*}}] : !sm.buffer<256x256xf32, tensor, {{.*}}> -> tensor<256x32xf32
sm.kernel @tensor_memory grid [1] inputs 0 warps 5 cluster [2, 1, 1] {
^bb0(%i: index):
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %in = sm.channel depth 6 : !in
  %acc = sm.channel depth 2 : !sm.channel<!sm.buffer<256x256xf32, tensor, #lanes>>
  %turn = sm.channel depth 1 filled 1 : !sm.channel<>
  sm.role "mma" warps 1 registers 48 {
    %t = sm.acquire %acc : !sm.channel<!sm.buffer<256x256xf32, tensor, #lanes>>
    %x:2 = sm.take %in : !in
    sm.mma tcgen05 %x#0, %x#1 into %t zero %true : !x, !y, !sm.buffer<256x256xf32, tensor, #lanes>
    sm.free %in : !in
    sm.publish %acc : !sm.channel<!sm.buffer<256x256xf32, tensor, #lanes>>
  }
  sm.role "epilogue" warps 4 registers 128 {
    sm.take %turn : !sm.channel<>
    %t = sm.take %acc : !sm.channel<!sm.buffer<256x256xf32, tensor, #lanes>>
    %r = sm.copy tmem %t[%c0, %c0] : !sm.buffer<256x256xf32, tensor, #lanes> -> tensor<256x32xf32, #rows>
    sm.free %acc : !sm.channel<!sm.buffer<256x256xf32, tensor, #lanes>>
    sm.free %turn : !sm.channel<>
  }
}

/// Each of two warpgroups has a part of a channel in tensor memory; the role at the other end names the part.

#part = #sm.layout<[128 tmem_lane] [64 tmem_col]>
!part = !sm.channel<!sm.buffer<128x64xf32, tensor, #part>>
#threads = #sm.layout<[2 group, 4 warp, 32 lane] [64 reg]>
#factors = #sm.layout<[2 group, 4 warp, 32 lane]>
// CHECK-LABEL: sm.kernel @parts
//       CHECK:   %[[SUMS:.*]] = sm.channel depth 1 parts 2 : <<128x64xf32, tensor,
//       CHECK:   sm.scale %{{.*}} by %{{.*}} : <128x64xf32, tensor, {{.*}}>, tensor<256xf32
//       CHECK:   sm.copy tmem %{{.*}} : !sm.buffer<128x64xf32, tensor, {{.*}}> -> tensor<256x64xf32
//       CHECK:   sm.free %[[SUMS]] : <
//       CHECK:   sm.acquire %[[SUMS]] part 1 : <
//       CHECK:   sm.publish %[[SUMS]] part 1 : <
sm.kernel @parts grid [1] inputs 0 warps 9 {
^bb0(%i: index):
  %sums = sm.channel depth 1 parts 2 : !part
  sm.role "math" warps 8 registers 128 {
    %t = sm.take %sums : !part
    %ones = tile.map() : () -> tensor<256xf32, #factors> {
      %one = arith.constant 1.0 : f32
      tile.yield %one : f32
    }
    sm.scale %t by %ones : !sm.buffer<128x64xf32, tensor, #part>, tensor<256xf32, #factors>
    %r = sm.copy tmem %t : !sm.buffer<128x64xf32, tensor, #part> -> tensor<256x64xf32, #threads>
    sm.free %sums : !part
  }
  sm.role "mma" warps 1 registers 48 {
    %t = sm.acquire %sums part 1 : !part
    sm.publish %sums part 1 : !part
  }
}

/// A slot's tile of a memref whose middle dimension has one index, read into the registers of wgmma's left side.

!side = !sm.buffer<64x64xi8, shared, <[8 offset:512, 8 offset:64] [64 offset] xor [offset 7:2 to offset 4]>>
#side = #sm.layout<[4 warp, 2 reg:2, 8 lane:4] [4 reg:8, 2 reg:4, 4 lane, 2 reg]>
// CHECK-LABEL: func @through_registers
//       CHECK:   sm.copy tma %{{.*}} to %{{.*}} dims [0, 2] : memref<256x8x128xi8> to !sm.buffer
//       CHECK:   sm.copy ld %{{.*}} : !sm.buffer<64x64xi8, shared, {{.*}}> -> tensor<64x64xi8
func.func @through_registers(%m: memref<256x8x128xi8>, %w: memref<64x64xi8>, %i: index, %x: !side) {
  sm.copy tma %m[%i, %i, %i] to %x dims [0, 2] : memref<256x8x128xi8> to !side
  %r = sm.copy ld %x : !side -> tensor<64x64xi8, #side>
  // CHECK: sm.copy cp_async %{{.*}}[%{{.*}}, %{{.*}}] to %{{.*}}[%{{.*}}, %{{.*}}] transposed : memref<64x64xi8> to !sm.buffer
  sm.copy cp_async %w[%i, %i] to %x[%i, %i] transposed : memref<64x64xi8> to !side
  return
}

/// A copy that rounds f32 to tf32, also through a transposition and single indices.

!rounded = !sm.buffer<64x32xf32, shared, <[64 offset:32] [32 offset] xor [offset 5:3 to offset 2]>>
// CHECK-LABEL: func @rounds
//       CHECK:   sm.copy tma %{{.*}} to %{{.*}} tf32 : memref<128x64xf32> to !sm.buffer
//       CHECK:   sm.copy tma %{{.*}} to %{{.*}} transposed tf32 dims [0, 2] : memref<64x8x128xf32> to !sm.buffer
func.func @rounds(%a: memref<128x64xf32>, %b: memref<64x8x128xf32>, %i: index, %x: !rounded) {
  sm.copy tma %a[%i, %i] to %x tf32 : memref<128x64xf32> to !rounded
  sm.copy tma %b[%i, %i, %i] to %x transposed tf32 dims [0, 2] : memref<64x8x128xf32> to !rounded
  return
}

/// Rows through several dimensions of memory, in the order of the rows, with strides.

!pixels = !sm.buffer<128x64xf16, shared, <[128 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
// CHECK-LABEL: func @boxes
//       CHECK:   sm.copy tma %{{.*}} to %{{.*}} dims [0, 1, 2, 3] box [2, 8, 8, 64] strides [1, 2, 2, 1] : memref<16x56x56x256xf16> to !sm.buffer
//       CHECK:   sm.copy cp_async %{{.*}} to %{{.*}} dims [2, 0, 3] box [8, 16, 64] : memref<16x56x56x256xf16> to !sm.buffer
//       CHECK:   sm.copy tma %{{.*}} to %{{.*}} dims [0, 1, 2, 3] box [2, 8, 8, 64] : !sm.buffer<{{.*}}> to memref<16x56x56x256xf16>
func.func @boxes(%m: memref<16x56x56x256xf16>, %i: index, %x: !pixels) {
  sm.copy tma %m[%i, %i, %i, %i] to %x dims [0, 1, 2, 3] box [2, 8, 8, 64] strides [1, 2, 2, 1] : memref<16x56x56x256xf16> to !pixels
  sm.copy cp_async %m[%i, %i, %i, %i] to %x dims [2, 0, 3] box [8, 16, 64] : memref<16x56x56x256xf16> to !pixels
  sm.copy tma %x to %m[%i, %i, %i, %i] dims [0, 1, 2, 3] box [2, 8, 8, 64] : !pixels to memref<16x56x56x256xf16>
  return
}
