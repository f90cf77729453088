// RUN: tilewright-opt %s --nvptx-print-code="level=ptx chip=sm_90a" -o /dev/null | FileCheck %s

/// A window is passed by value: the rank, the address of all parts, the address of each part. A barrier: one thread for each rank counts in
/// a word of its own, tells the other rank, and waits for it.

// CHECK-LABEL: .entry barrier(
//       CHECK:   .param .align 8 .b8 barrier_param_0[48]
//       CHECK:   ld.param.b64 %[[ME:rd[0-9]+]], [barrier_param_0]
//       CHECK:   bar.sync 0;
//       CHECK:   ld.global.b32
//       CHECK:   st.global.b32
//       CHECK:   st.release.sys.global.b32
//       CHECK: $L__BB0_[[LOOK:[0-9]+]]:
//       CHECK:   ld.acquire.sys.global.b32 %[[SEEN:r[0-9]+]]
//       CHECK:   sub.s32 %[[LEFT:r[0-9]+]], %[[SEEN]], %{{r[0-9]+}}
//       CHECK:   setp.lt.s32 %[[P:p[0-9]+]], %[[LEFT]], 0
//       CHECK:   @%[[P]] bra $L__BB0_[[LOOK]]
//       CHECK:   bar.sync 0;
sm.kernel @barrier grid [2] inputs 0 warps 4 {
^bb0(%p: index, %s: memref<4x2x8xi32, "window">):
  tile.barrier %s : memref<4x2x8xi32, "window">
}

/// A load of a rank's part takes its address from the parameter, then it is like any other.

// CHECK-LABEL: .entry parts(
//       CHECK:   ld.param.b64 %[[PART:rd[0-9]+]], [parts_param_0+32]
//       CHECK:   add.s64 %[[FROM:rd[0-9]+]], %[[PART]],
//       CHECK:   ld.global.v4.b32 {{.*}}, [%[[FROM]]]
//       CHECK:   ld.param.b64 %[[ALL:rd[0-9]+]], [parts_param_0+8]
//       CHECK:   multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.bf16x2
//       CHECK:   multimem.st.relaxed.sys.global.v4.f32
#row = #sm.layout<[] [4 warp, 32 lane, 8 reg]>
sm.kernel @parts grid [1] inputs 1 warps 4 {
^bb0(%p: index, %in: memref<4x1024xbf16, "window">, %out: memref<1x1024xbf16>):
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %t = tile.load %in[%c2, %c0] : memref<4x1024xbf16, "window"> -> tensor<1x1024xbf16, #row>
  tile.store %t, %out[%c0, %c0] : tensor<1x1024xbf16, #row>, memref<1x1024xbf16>
  %s = tile.reduce_parts add %in[%c0] : memref<4x1024xbf16, "window"> -> tensor<1x1024xbf16, #row>
  tile.store_parts %s, %in[%c0] : tensor<1x1024xbf16, #row>, memref<4x1024xbf16, "window">
}

/// A signal counts in a word of the other rank, after all threads; a wait counts what this point has waited for, and holds all threads.

// CHECK-LABEL: .entry flags(
//       CHECK:   bar.sync 0;
//       CHECK:   red.release.sys.global.add.u32 [%{{rd[0-9]+}}], 1;
//       CHECK:   ld.acquire.sys.global.b32
//       CHECK:   bar.sync 0;
sm.kernel @flags grid [2] inputs 0 warps 1 {
^bb0(%p: index, %f: memref<4x5x3xi32, "window">):
  %c1 = arith.constant 1 : index
  tile.signal %f[%c1, %p] : memref<4x5x3xi32, "window">
  tile.wait %f[%p] count 4 : memref<4x5x3xi32, "window">
}
