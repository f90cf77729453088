// RUN: tilewright-opt %s --tile-pipeline --amdgcn-print-code="level=llvm" --split-input-file -o /dev/null | FileCheck %s

#gfx950 = #exec.target<chip = "gfx950", units = 256, gpu = <warp_size = 64, registers = 131072, max_registers = 256, shared_bytes = 163840, sector_bytes = 64>,
  matrix = <types = [f16]>, rates = <f16 = 2048, f4 = 8192, matrix_latency = 64, copy_latency = 900, l2_bytes_per_cycle = 16384, memory_bytes_per_cycle = 3333, l2_bytes = 33554432>>

/// Loads to LDS of 16 bytes of each lane, four for each slot. The first slot is taken when the loads of the five others are in flight (vmcnt(20)). In the loop,
/// a barrier follows the reads of the freed slot (lgkmcnt(0)), its loads are issued, and again those of five slots stay in flight. Reads of LDS do not wait for them.

//  CHECK-LABEL: define {{.*}}@gemm(
// CHECK-COUNT-23: call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) {{.*}}, i32 16, {{.*}}!alias.scope
//        CHECK:   call void @llvm.amdgcn.raw.ptr.buffer.load.lds{{.*}}!alias.scope ![[COPIES:[0-9]+]], !noalias ![[OTHERS:[0-9]+]]
//        CHECK:   call void @llvm.amdgcn.s.waitcnt(i32 20340)
//   CHECK-NEXT:   fence syncscope("singlethread") acq_rel
//   CHECK-NEXT:   call void @llvm.amdgcn.s.barrier()
// CHECK-COUNT-4:   load <4 x i32>, ptr addrspace(3) {{.*}}, align 16, {{.*}}!alias.scope ![[OTHERS]], !noalias ![[COPIES]]
// CHECK-COUNT-4:   load <4 x i32>, ptr addrspace(3)
// CHECK-COUNT-4:   call <4 x float> @llvm.amdgcn.mfma.f32.16x16x32.f16(
//        CHECK:   call void @llvm.amdgcn.sched.barrier(i32 0)
//        CHECK:   call void @llvm.amdgcn.s.waitcnt(i32 49279)
//        CHECK:   call void @llvm.amdgcn.s.barrier()
// CHECK-COUNT-4:   call void @llvm.amdgcn.raw.ptr.buffer.load.lds
//        CHECK:   call void @llvm.amdgcn.s.waitcnt(i32 20340)
//    CHECK-NOT:   call {{.*}}buffer.load
//        CHECK:   "amdgpu-agpr-alloc"="0"
module attributes {exec.target = #gfx950} {
tile.kernel @gemm grid [8, 8] inputs 2 {
^bb0(%i: index, %j: index, %a: memref<512x512xf16>, %b: memref<512x512xf16>, %c: memref<512x512xf32>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %steps = arith.constant 8 : index
  %m = affine.apply affine_map<(i) -> (i * 64)>(%i)
  %n = affine.apply affine_map<(i) -> (i * 64)>(%j)
  %none = tile.map () : () -> tensor<64x64xf32> {
    %f = arith.constant 0.0 : f32
    tile.yield %f : f32
  }
  %sum = scf.for %s = %zero to %steps step %one iter_args(%acc = %none) -> tensor<64x64xf32> {
    %k = affine.apply affine_map<(i) -> (i * 64)>(%s)
    %x = tile.load %a[%m, %k] : memref<512x512xf16> -> tensor<64x64xf16>
    %yt = tile.load %b[%n, %k] : memref<512x512xf16> -> tensor<64x64xf16>
    %y = tile.view %yt affine_map<(i, j) -> (j, i)> : tensor<64x64xf16> -> tensor<64x64xf16>
    %d = tile.dot %x, %y, %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %sum, %c[%m, %n] : tensor<64x64xf32>, memref<512x512xf32>
}
}

// -----

#gfx942 = #exec.target<chip = "gfx942", units = 304, gpu = <warp_size = 64, registers = 131072, max_registers = 256, shared_bytes = 65536, sector_bytes = 64>,
  matrix = <types = [f16]>, rates = <f16 = 1024, matrix_latency = 64, copy_latency = 900, l2_bytes_per_cycle = 16384, memory_bytes_per_cycle = 2523, l2_bytes = 33554432>>

/// Copies go through registers: the loads of a slot are issued before the products of the last step, and are written to LDS behind the barrier at which the next
/// slot is taken.

//  CHECK-LABEL: define {{.*}}@gemm(
//        CHECK:   call <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(
//        CHECK:   store <4 x i32> {{.*}}, ptr addrspace(3) {{.*}}, align 16
//        CHECK:   call void @llvm.amdgcn.s.barrier()
// CHECK-COUNT-8:   call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(
// CHECK-COUNT-4:   call <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(
// CHECK-COUNT-8:   call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(
//        CHECK:   call void @llvm.amdgcn.s.waitcnt(i32 49279)
//        CHECK:   call void @llvm.amdgcn.s.barrier()
// CHECK-COUNT-4:   store <4 x i32> {{.*}}, ptr addrspace(3) {{.*}}, align 16
//    CHECK-NOT:   call {{.*}}buffer.load
module attributes {exec.target = #gfx942} {
tile.kernel @gemm grid [8, 8] inputs 2 {
^bb0(%i: index, %j: index, %a: memref<512x512xf16>, %b: memref<512x512xf16>, %c: memref<512x512xf32>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %steps = arith.constant 8 : index
  %m = affine.apply affine_map<(i) -> (i * 64)>(%i)
  %n = affine.apply affine_map<(i) -> (i * 64)>(%j)
  %none = tile.map () : () -> tensor<64x64xf32> {
    %f = arith.constant 0.0 : f32
    tile.yield %f : f32
  }
  %sum = scf.for %s = %zero to %steps step %one iter_args(%acc = %none) -> tensor<64x64xf32> {
    %k = affine.apply affine_map<(i) -> (i * 64)>(%s)
    %x = tile.load %a[%m, %k] : memref<512x512xf16> -> tensor<64x64xf16>
    %yt = tile.load %b[%n, %k] : memref<512x512xf16> -> tensor<64x64xf16>
    %y = tile.view %yt affine_map<(i, j) -> (j, i)> : tensor<64x64xf16> -> tensor<64x64xf16>
    %d = tile.dot %x, %y, %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %sum, %c[%m, %n] : tensor<64x64xf32>, memref<512x512xf32>
}
}
