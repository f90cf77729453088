// RUN: not tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_90a" -o /dev/null 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t

/// A channel with two slots between two roles. The full barrier of a slot counts one arrival and the bytes of its copies; the empty
/// barrier counts an arrival of each warpgroup that drains the slot. One thread of the first role issues the copies.

// CHECK-LABEL: llvm.func @roles(
//  CHECK-SAME:   nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 384>
//   CHECK-DAG:   %[[BYTES:.*]] = llvm.mlir.constant(17408 : i32)
//   CHECK-DAG:   %[[TWO:.*]] = llvm.mlir.constant(2 : i32)
//   CHECK-DAG:   %[[ONE:.*]] = llvm.mlir.constant(1 : i32)
//   CHECK-DAG:   %[[ZERO:.*]] = llvm.mlir.constant(0 : i32)
//       CHECK:   %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
/// The filler starts with the parity before the first phase, the drainer with that of the first phase.
//       CHECK:   llvm.store %[[ZERO]], %[[FILL_SLOT:.*]] : i32, !llvm.ptr
//  CHECK-NEXT:   llvm.store %[[ONE]], %[[FILL_PHASE:.*]] : i32, !llvm.ptr
//       CHECK:   llvm.store %[[ZERO]], %[[DRAIN_SLOT:.*]] : i32, !llvm.ptr
//  CHECK-NEXT:   llvm.store %[[ZERO]], %[[DRAIN_PHASE:.*]] : i32, !llvm.ptr
//       CHECK:   %[[IS_FIRST:.*]] = llvm.icmp "eq" %[[THREAD]], %[[ZERO]]
//       CHECK:   llvm.cond_br %[[IS_FIRST]], ^[[INIT:.*]], ^[[READY:bb[0-9]+]]
//       CHECK: ^[[INIT]]:
//       CHECK:   nvvm.mbarrier.init %{{.*}}, %[[ONE]] : !llvm.ptr<3>, i32
//       CHECK:   nvvm.mbarrier.init %{{.*}}, %[[TWO]] : !llvm.ptr<3>, i32
//       CHECK:   nvvm.mbarrier.init %{{.*}}, %[[ONE]] : !llvm.ptr<3>, i32
//       CHECK:   nvvm.mbarrier.init %{{.*}}, %[[TWO]] : !llvm.ptr<3>, i32
//  CHECK-NEXT:   nvvm.fence.mbarrier.init
//       CHECK: ^[[READY]]:
//       CHECK:   llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.all"
//       CHECK:   nvvm.setmaxregister decrease 40
//       CHECK:   %[[IS_FIRST:.*]] = llvm.icmp "eq" %[[THREAD]], %[[ZERO]]
//       CHECK:   llvm.cond_br %[[IS_FIRST]]
/// acquire
//       CHECK:   %[[SLOT:.*]] = llvm.load %[[FILL_SLOT]]
//       CHECK:   %[[PHASE:.*]] = llvm.load %[[FILL_PHASE]]
//       CHECK:   mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;{{.*}}@!done bra again;{{.*}} %{{.*}}, %[[PHASE]] :
//       CHECK:   "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", {{.*}} %{{.*}}, %[[BYTES]] :
//       CHECK:   %[[NEXT:.*]] = llvm.add %{{.*}}, %[[ONE]]
//       CHECK:   %[[WRAPS:.*]] = llvm.icmp "eq" %[[NEXT]], %[[TWO]]
//       CHECK:   llvm.select %[[WRAPS]], %[[ZERO]], %[[NEXT]]
//       CHECK:   %[[FLIP:.*]] = llvm.zext %[[WRAPS]] : i1 to i32
//       CHECK:   %[[PHASE:.*]] = llvm.xor %{{.*}}, %[[FLIP]]
//       CHECK:   llvm.store %[[PHASE]], %[[FILL_PHASE]]
/// take and free
//       CHECK:   nvvm.setmaxregister increase 232
//       CHECK:   llvm.load %[[DRAIN_SLOT]]
//       CHECK:   %[[PHASE:.*]] = llvm.load %[[DRAIN_PHASE]]
//       CHECK:   mbarrier.try_wait.parity.shared::cta.b64 {{.*}} %{{.*}}, %[[PHASE]] :
//       CHECK:   wgmma.mma_async
//       CHECK:   "wgmma.wait_group.sync.aligned 0;"
//       CHECK:   %[[IN_GROUP:.*]] = llvm.and
//       CHECK:   %[[ARRIVES:.*]] = llvm.icmp "ult" %[[IN_GROUP]], %[[ONE]]
//       CHECK:   %[[ON:.*]] = llvm.zext %[[ARRIVES]] : i1 to i32
//       CHECK:   @on mbarrier.arrive.shared::cta.b64 _, [$0];{{.*}} %[[ON]] :
!x = !sm.buffer<128x64xf16, shared, <[128 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!y = !sm.buffer<64x8xf16, shared, <[64 offset] [8 offset:64] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!x, !y>
#acc = #sm.layout<[2 group, 4 warp, 2 reg:2, 8 lane:4] [4 lane, 2 reg]>
sm.kernel @roles grid [1] inputs 2 warps 12 {
^bb0(%i: index, %a: memref<128x64xf16>, %b: memref<8x64xf16>, %out: memref<128x8xf32>):
  %c0 = arith.constant 0 : index
  %in = sm.channel depth 2 : !in
  sm.role "load" warps 4 registers 40 {
    %slot:2 = sm.acquire %in : !in
    sm.copy tma %a[%c0, %c0] to %slot#0 : memref<128x64xf16> to !x
    sm.copy tma %b[%c0, %c0] to %slot#1 transposed : memref<8x64xf16> to !y
    sm.publish %in : !in
  }
  sm.role "math" warps 8 registers 232 {
    %full:2 = sm.take %in : !in
    %sum = sm.mma wgmma %full#0, %full#1 : !x, !y -> tensor<128x8xf32, #acc>
    sm.free %in : !in
    tile.store %sum, %out[%c0, %c0] : tensor<128x8xf32, #acc>, memref<128x8xf32>
  }
}

// -----

// ERROR: E4051 target: while compiling kernel filled: 'sm.channel' at {{.*}} has slots that are full at the start, which the GPU target does not support yet
!x = !sm.buffer<64x64xf16, shared, <[64 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!x>
sm.kernel @filled grid [1] inputs 1 warps 4 {
^bb0(%i: index, %a: memref<64x64xf16>, %out: memref<64x64xf32>):
  %in = sm.channel depth 2 filled 1 : !in
  sm.role "math" warps 4 registers 40 {
    %full = sm.take %in : !in
    sm.free %in : !in
  }
}

// -----

// ERROR: E4051 target: while compiling kernel warps: 'sm.kernel' at {{.*}} must have roles that fill whole warpgroups of 4 warps; roles that share one must have equally many registers
!x = !sm.buffer<64x64xf16, shared, <[64 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!x>
sm.kernel @warps grid [1] inputs 1 warps 6 {
^bb0(%i: index, %a: memref<64x64xf16>, %out: memref<64x64xf32>):
  %c0 = arith.constant 0 : index
  %in = sm.channel depth 2 : !in
  sm.role "load" warps 2 registers 40 {
    %slot = sm.acquire %in : !in
    sm.copy tma %a[%c0, %c0] to %slot : memref<64x64xf16> to !x
    sm.publish %in : !in
  }
  sm.role "math" warps 4 registers 40 {
    %full = sm.take %in : !in
    sm.free %in : !in
  }
}
