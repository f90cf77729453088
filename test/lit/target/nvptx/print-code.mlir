// RUN: tilewright-opt %s --nvptx-print-code=level=llvm -o /dev/null | FileCheck %s --check-prefix=LLVM
// RUN: tilewright-opt %s --nvptx-print-code="level=ptx chip=sm_80" -o /dev/null | FileCheck %s --check-prefix=PTX

/// The thread's part of the address is computed once, before the body; registers add constants.

// LLVM-LABEL: define ptx_kernel void @twice(ptr addrspace(1) align 16 %0, ptr addrspace(1) align 16 %1)
//       LLVM:   call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
//       LLVM:   load <4 x float>, ptr addrspace(1) %{{.*}}, align 16
// LLVM-COUNT-4: fadd float

//       PTX: .target sm_80
//       PTX: .entry twice(
//       PTX: .reqntid 64
//   PTX-NOT: setp
//       PTX: ld.global.v4.b32
// PTX-COUNT-4: add.rn.f32
//       PTX: st.global.v4.b32
#rows = #sm.layout<[2 warp, 32 lane, 4 reg]>
sm.kernel @twice grid [4] inputs 1 warps 2 {
^bb0(%i: index, %x: memref<1024xf32>, %out: memref<1024xf32>):
  %o = affine.apply affine_map<(i) -> (i * 256)>(%i)
  %t = tile.load %x[%o] : memref<1024xf32> -> tensor<256xf32, #rows>
  %r = tile.map(%t) : (tensor<256xf32, #rows>) -> tensor<256xf32, #rows> {
  ^bb0(%a: f32):
    %b = arith.addf %a, %a : f32
    tile.yield %b : f32
  }
  tile.store %r, %out[%o] : tensor<256xf32, #rows>, memref<1024xf32>
}
