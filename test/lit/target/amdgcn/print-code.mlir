// RUN: tilewright-opt %s --amdgcn-print-code=level=llvm -o /dev/null | FileCheck %s --check-prefix=LLVM
// RUN: tilewright-opt %s --amdgcn-print-code="level=asm chip=gfx942" -o /dev/null | FileCheck %s --check-prefix=ASM
// RUN: tilewright-opt %s --amdgcn-print-code=level=budget -o /dev/null | FileCheck %s --check-prefix=BUDGET

/// The thread's part of the address is computed once, before the body; registers add constants. Kernels read nothing but their
/// parameters.

// LLVM-LABEL: define protected amdgpu_kernel void @twice(ptr addrspace(1) align 16 %0, ptr addrspace(1) align 16 %1)
//       LLVM:   call i32 @llvm.amdgcn.workitem.id.x()
//       LLVM:   load <4 x float>, ptr addrspace(1) %{{.*}}, align 16
// LLVM-COUNT-4: fadd float
//       LLVM: "amdgpu-flat-work-group-size"="128,128"
//       LLVM: !"amdhsa_code_object_version", i32 500

//       ASM: twice:
//       ASM: global_load_dwordx4
//       ASM: s_waitcnt vmcnt(0)
// ASM-COUNT-4: v_add_f32
//       ASM: global_store_dwordx4
//       ASM: s_endpgm
//   ASM-NOT: hidden_
//       ASM: .max_flat_workgroup_size: 128

// BUDGET: twice: {{[0-9]+}} registers, 0 bytes spilled, 0 of stack, 0 of static LDS
#rows = #sm.layout<[2 warp, 64 lane, 4 reg]>
sm.kernel @twice grid [4] inputs 1 warps 2 {
^bb0(%i: index, %x: memref<2048xf32>, %out: memref<2048xf32>):
  %o = affine.apply affine_map<(i) -> (i * 512)>(%i)
  %t = tile.load %x[%o] : memref<2048xf32> -> tensor<512xf32, #rows>
  %r = tile.map(%t) : (tensor<512xf32, #rows>) -> tensor<512xf32, #rows> {
  ^bb0(%a: f32):
    %b = arith.addf %a, %a : f32
    tile.yield %b : f32
  }
  tile.store %r, %out[%o] : tensor<512xf32, #rows>, memref<2048xf32>
}
