// RUN: tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_90a" -o /dev/null | FileCheck %s

/// A tile that a branch or loop uses is complete before it or at its end: registers of a wgmma in flight are not read,
/// and code after the branch does not use registers that only one side has.

/// A wgmma that one side yields is waited for before the sides join.
// CHECK-LABEL: llvm.func @yielded
//       CHECK:   wgmma.mma_async
//       CHECK:   "wgmma.wait_group.sync.aligned 0;"
//  CHECK-NEXT:   llvm.extractvalue
//       CHECK:   llvm.br
!x = !sm.buffer<64x64xf16, shared, <[64 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!y = !sm.buffer<64x8xf16, shared, <[64 offset] [8 offset:64] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!x, !y>
#acc = #sm.layout<[4 warp, 2 reg:2, 8 lane:4] [4 lane, 2 reg]>
sm.kernel @yielded grid [4] inputs 2 warps 8 {
^bb0(%i: index, %a: memref<64x64xf16>, %b: memref<8x64xf16>, %out: memref<64x8xf32>, %out2: memref<64x8xf32>):
  %c0 = arith.constant 0 : index
  %in = sm.channel depth 1 : !in
  %p = arith.cmpi eq, %i, %c0 : index
  sm.role "load" warps 4 registers 40 {
    %slot:2 = sm.acquire %in : !in
    sm.copy tma %a[%c0, %c0] to %slot#0 : memref<64x64xf16> to !x
    sm.copy tma %b[%c0, %c0] to %slot#1 transposed : memref<8x64xf16> to !y
    sm.publish %in : !in
  }
  sm.role "math" warps 4 registers 232 {
    %f:2 = sm.take %in : !in
    %zero = tile.map() : () -> tensor<64x8xf32, #acc> {
      %z = arith.constant 0.0 : f32
      tile.yield %z : f32
    }
    %r = scf.if %p -> tensor<64x8xf32, #acc> {
      %s = sm.mma wgmma %f#0, %f#1 : !x, !y -> tensor<64x8xf32, #acc>
      scf.yield %s : tensor<64x8xf32, #acc>
    } else {
      scf.yield %zero : tensor<64x8xf32, #acc>
    }
    tile.store %r, %out[%c0, %c0] : tensor<64x8xf32, #acc>, memref<64x8xf32>
    sm.free %in : !in
  }
}

// -----

/// The wait stands before the branch whose side reads the sum.
// CHECK-LABEL: llvm.func @read_in_branch
//       CHECK:   wgmma.mma_async
//       CHECK:   "wgmma.wait_group.sync.aligned 0;"
//       CHECK:   llvm.cond_br
!x = !sm.buffer<64x64xf16, shared, <[64 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!y = !sm.buffer<64x8xf16, shared, <[64 offset] [8 offset:64] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!x, !y>
#acc = #sm.layout<[4 warp, 2 reg:2, 8 lane:4] [4 lane, 2 reg]>
sm.kernel @read_in_branch grid [4] inputs 2 warps 8 {
^bb0(%i: index, %a: memref<64x64xf16>, %b: memref<8x64xf16>, %out: memref<64x8xf32>, %out2: memref<64x8xf32>):
  %c0 = arith.constant 0 : index
  %in = sm.channel depth 1 : !in
  %p = arith.cmpi eq, %i, %c0 : index
  sm.role "load" warps 4 registers 40 {
    %slot:2 = sm.acquire %in : !in
    sm.copy tma %a[%c0, %c0] to %slot#0 : memref<64x64xf16> to !x
    sm.copy tma %b[%c0, %c0] to %slot#1 transposed : memref<8x64xf16> to !y
    sm.publish %in : !in
  }
  sm.role "math" warps 4 registers 232 {
    %f:2 = sm.take %in : !in
    %s = sm.mma wgmma %f#0, %f#1 : !x, !y -> tensor<64x8xf32, #acc>
    scf.if %p {
      tile.store %s, %out[%c0, %c0] : tensor<64x8xf32, #acc>, memref<64x8xf32>
    }
    tile.store %s, %out2[%c0, %c0] : tensor<64x8xf32, #acc>, memref<64x8xf32>
    sm.free %in : !in
  }
}

// -----

/// Fragments are unpacked before the loop that reads their elements.
// CHECK-LABEL: llvm.func @words
//       CHECK:   llvm.load {{.*}} : !llvm.ptr<3> -> i32
//       CHECK:   llvm.bitcast {{.*}} : i32 to f32
//       CHECK:   llvm.cond_br
!turned = !sm.buffer<16x8xf32, shared, <[16 offset] [8 offset:16]>>
#left = #sm.layout<[2 reg, 8 lane:4] [2 reg:2, 4 lane]>
sm.kernel @words grid [4] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<8x16xf32>, %out: memref<16x8xf32>, %out2: memref<16x8xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %in = sm.channel depth 1 : !sm.channel<!turned>
  %slot = sm.acquire %in : !sm.channel<!turned>
  sm.copy cp_async %x[%c0, %c0] to %slot transposed : memref<8x16xf32> to !turned
  sm.publish %in : !sm.channel<!turned>
  %full = sm.take %in : !sm.channel<!turned>
  %t = sm.copy ld %full[%c0, %c0] : !turned -> tensor<16x8xf32, #left>
  sm.free %in : !sm.channel<!turned>
  scf.for %k = %c0 to %i step %c1 {
    tile.store %t, %out[%c0, %c0] : tensor<16x8xf32, #left>, memref<16x8xf32>
  }
  tile.store %t, %out2[%c0, %c0] : tensor<16x8xf32, #left>, memref<16x8xf32>
}
