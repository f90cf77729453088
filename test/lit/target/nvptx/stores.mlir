// RUN: not tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_90a" -o /dev/null 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t

/// A role stages a tile of its result: stmatrix into swizzled lines, a fence for the copy engine and a barrier of the role,
/// then the first thread stores the box and waits before the role ends.

// CHECK-LABEL: llvm.func @stage(
//   CHECK-DAG:   %[[THREADS:.*]] = llvm.mlir.constant(128 : i32)
//   CHECK-DAG:   %[[ONE:.*]] = llvm.mlir.constant(1 : i32)
//       CHECK:   %[[LANE:.*]] = llvm.xor
//  CHECK-NEXT:   %[[SWIZZLE:.*]] = llvm.shl %[[LANE]],
//   CHECK-NOT:   mbarrier.init %
/// acquire: the stores that still read the slot
//       CHECK:   @first cp.async.bulk.wait_group.read 0;
//  CHECK-NEXT:   nvvm.barrier id = %[[ONE]] number_of_threads = %[[THREADS]]
//       CHECK:   %[[CHUNK:.*]] = llvm.xor %[[SWIZZLE]],
//  CHECK-NEXT:   llvm.add %{{.*}}, %[[CHUNK]]
// CHECK-COUNT-4: nvvm.stmatrix %{{.*}} layout = #nvvm.mma_layout<row>, {{.*}} : !llvm.ptr<3>, i32, i32, i32, i32
/// publish
//  CHECK-NEXT:   nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
//  CHECK-NEXT:   nvvm.barrier id = %[[ONE]] number_of_threads = %[[THREADS]]
/// the copy, free, and the end of the role
//       CHECK:   @first cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [$0, {$1, $2}], [$3];{{.*}} %arg2,
//       CHECK:   @first cp.async.bulk.commit_group;
//       CHECK:   @first cp.async.bulk.wait_group.read 0;
!y = !sm.buffer<64x64xf16, shared, <[64 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!result = !sm.channel<!y>
#acc = #sm.layout<[4 warp, 2 reg:2, 8 lane:4] [8 reg:4, 4 lane, 2 reg]>
sm.kernel @stage grid [1] inputs 1 warps 4 {
^bb0(%i: index, %x: memref<64x64xf16>, %out: memref<64x64xf16>):
  %c0 = arith.constant 0 : index
  %result = sm.channel depth 1 : !result
  sm.role "math" warps 4 registers 232 {
    %t = tile.load %x[%c0, %c0] : memref<64x64xf16> -> tensor<64x64xf16, #acc>
    %slot = sm.acquire %result : !result
    sm.copy stmatrix %t to %slot : tensor<64x64xf16, #acc> to !y
    sm.publish %result : !result
    %full = sm.take %result : !result
    sm.copy tma %full to %out[%c0, %c0] : !y to memref<64x64xf16>
    sm.free %result : !result
  }
}

// -----

// ERROR: E4051 target: while compiling kernel words: 'sm.copy' at {{.*}} must be a stmatrix copy of a tile of 16-bit elements to a buffer, on a chip with stmatrix, got sm_90a
!y = !sm.buffer<64x64xf32, shared, <[64 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!result = !sm.channel<!y>
#acc = #sm.layout<[4 warp, 2 reg:2, 8 lane:4] [8 reg:4, 4 lane, 2 reg]>
sm.kernel @words grid [1] inputs 1 warps 4 {
^bb0(%i: index, %x: memref<64x64xf32>, %out: memref<64x64xf32>):
  %c0 = arith.constant 0 : index
  %result = sm.channel depth 1 : !result
  sm.role "math" warps 4 registers 232 {
    %t = tile.load %x[%c0, %c0] : memref<64x64xf32> -> tensor<64x64xf32, #acc>
    %slot = sm.acquire %result : !result
    sm.copy stmatrix %t to %slot : tensor<64x64xf32, #acc> to !y
    sm.publish %result : !result
    %full = sm.take %result : !result
    sm.free %result : !result
  }
}
