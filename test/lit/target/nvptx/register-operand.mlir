// RUN: tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_90a" -o /dev/null | FileCheck %s

/// The left side goes from a slot through registers, where a map widens it. The product is in two pieces along K: the threads
/// compute a piece while the tensor core multiplies the other one.

// CHECK-LABEL: llvm.func @widen(
/// Threads read the slot, so each of the four warps arrives at the empty barrier.
//   CHECK-DAG:   %[[FOUR:.*]] = llvm.mlir.constant(4 : i32)
//       CHECK:   nvvm.mbarrier.init
//       CHECK:   nvvm.mbarrier.init %{{.*}}, %[[FOUR]]
//       CHECK:   nvvm.setmaxregister decrease 232
/// the first product: two bytes in each load, two f16 in each word
//       CHECK:   mbarrier.try_wait
// CHECK-COUNT-16: "ld.shared.u16 $0, [$1+{{[0-9]+}}];"
//       CHECK:   lane.map(%{{.*}}) : (i8) -> f32 {
//       CHECK:     arith.sitofp %{{.*}} : i8 to f16
//       CHECK:   lane.encode %{{.*}} as f16 : f32 -> f16
//       CHECK:   llvm.bitcast %{{.*}} : vector<2xf16> to i32
//       CHECK:   wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, {$5, $6, $7, $8}, c, off, 1, 1, 0;
//  CHECK-SAME:     wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, {$9, $10, $11, $12}, c, on, 1, 1, 0;
//       CHECK:   lane.map
//       CHECK:   wgmma.fence.sync.aligned;{{.*}}add.u32 cl, $4, 4;
//  CHECK-SAME:     {$5, $6, $7, $8}, c, on, 1, 1, 0;
//       CHECK:   llvm.cond_br %{{.*}}, ^[[LOOP:.*]](%{{.*}} : i32, f32, f32, f32, f32), ^
/// in the loop: a piece is computed from words that pass through the wait for the previous product of its registers
//       CHECK: ^[[LOOP]](
//       CHECK:   mbarrier.try_wait
//       CHECK:   %[[WORD:.*]] = llvm.inline_asm {{.*}} "ld.shared.u16 $0, [$1+0];"
//       CHECK:   %[[WORDS:.*]] = llvm.inline_asm {{.*}} "wgmma.wait_group.sync.aligned 1;", "=r,{{.*}} %[[WORD]],
//       CHECK:   %[[SETTLED:.*]] = llvm.extractvalue %[[WORDS]][0]
//       CHECK:   %[[BYTE:.*]] = llvm.trunc %[[SETTLED]] : i32 to i8
//       CHECK:   lane.map(%[[BYTE]]) : (i8) -> f32
//       CHECK:   wgmma.mma_async
//       CHECK:   "wgmma.wait_group.sync.aligned 1;", "=r,
//       CHECK:   lane.map
//       CHECK:   wgmma.mma_async
/// free: both pieces of this iteration are in flight
//       CHECK:   nvvm.wgmma.wait.group.sync.aligned 2
//       CHECK:   nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
//  CHECK-NEXT:   nvvm.bar.warp.sync
//       CHECK:   @on mbarrier.arrive.shared::cta.b64
!x = !sm.buffer<64x64xi8, shared, <[64 offset:64] [64 offset] xor [offset 7:2 to offset 4]>>
!y = !sm.buffer<64x8xf16, shared, <[64 offset] [8 offset:64] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!x, !y>
#side = #sm.layout<[4 warp, 2 reg:2, 8 lane:4] [4 reg:8, 2 reg:4, 4 lane, 2 reg]>
#acc = #sm.layout<[4 warp, 2 reg:2, 8 lane:4] [4 lane, 2 reg]>
sm.kernel @widen grid [1] inputs 2 warps 8 {
^bb0(%i: index, %a: memref<64x256xi8>, %b: memref<8x256xf16>, %out: memref<64x8xf32>):
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %in = sm.channel depth 2 : !in
  sm.role "load" warps 4 registers 40 {
    scf.for %k = %c0 to %c256 step %c64 {
      %slot:2 = sm.acquire %in : !in
      sm.copy tma %a[%c0, %k] to %slot#0 : memref<64x256xi8> to !x
      sm.copy tma %b[%c0, %k] to %slot#1 transposed : memref<8x256xf16> to !y
      sm.publish %in : !in
    }
  }
  sm.role "math" warps 4 registers 232 {
    %x:2 = sm.take %in : !in
    %raw = sm.copy ld %x#0 : !x -> tensor<64x64xi8, #side>
    %wide = tile.map(%raw) : (tensor<64x64xi8, #side>) -> tensor<64x64xf16, #side> {
    ^bb0(%e: i8):
      %f = arith.sitofp %e : i8 to f16
      tile.yield %f : f16
    }
    %first = sm.mma wgmma %wide, %x#1 : tensor<64x64xf16, #side>, !y -> tensor<64x8xf32, #acc>
    %sum = scf.for %k = %c64 to %c256 step %c64 iter_args(%s = %first) -> tensor<64x8xf32, #acc> {
      %y:2 = sm.take %in : !in
      %raw2 = sm.copy ld %y#0 : !x -> tensor<64x64xi8, #side>
      %wide2 = tile.map(%raw2) : (tensor<64x64xi8, #side>) -> tensor<64x64xf16, #side> {
      ^bb0(%e: i8):
        %f = arith.sitofp %e : i8 to f16
        tile.yield %f : f16
      }
      %next = sm.mma wgmma %wide2, %y#1, %s : tensor<64x64xf16, #side>, !y -> tensor<64x8xf32, #acc>
      sm.free %in : !in
      scf.yield %next : tensor<64x8xf32, #acc>
    }
    sm.free %in : !in
    tile.store %sum, %out[%c0, %c0] : tensor<64x8xf32, #acc>, memref<64x8xf32>
  }
}

// -----

/// A left side that does not come from a slot is multiplied in one group.

// CHECK-LABEL: llvm.func @from_memory(
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16
// CHECK-NOT: wgmma.mma_async
// CHECK: wgmma.wait_group.sync.aligned 0;
!y = !sm.buffer<64x8xf16, shared, <[64 offset] [8 offset:64] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!y>
#side = #sm.layout<[4 warp, 2 reg:2, 8 lane:4] [4 reg:8, 2 reg:4, 4 lane, 2 reg]>
#acc = #sm.layout<[4 warp, 2 reg:2, 8 lane:4] [4 lane, 2 reg]>
sm.kernel @from_memory grid [1] inputs 2 warps 8 {
^bb0(%i: index, %a: memref<64x64xf16>, %b: memref<8x64xf16>, %out: memref<64x8xf32>):
  %c0 = arith.constant 0 : index
  %in = sm.channel depth 1 : !in
  sm.role "load" warps 4 registers 40 {
    %slot = sm.acquire %in : !in
    sm.copy tma %b[%c0, %c0] to %slot transposed : memref<8x64xf16> to !y
    sm.publish %in : !in
  }
  sm.role "math" warps 4 registers 232 {
    %x = sm.take %in : !in
    %left = tile.load %a[%c0, %c0] : memref<64x64xf16> -> tensor<64x64xf16, #side>
    %sum = sm.mma wgmma %left, %x : tensor<64x64xf16, #side>, !y -> tensor<64x8xf32, #acc>
    sm.free %in : !in
    tile.store %sum, %out[%c0, %c0] : tensor<64x8xf32, #acc>, memref<64x8xf32>
  }
}
