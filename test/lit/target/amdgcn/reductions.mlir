// RUN: tilewright-opt %s --amdgcn-print-code="level=mlir chip=gfx942" -o /dev/null | FileCheck %s

/// A sum over registers, lanes and waves: a tree in the thread, a butterfly by DPP (lanes 1, 2 and 8 apart), ds_swizzle (4 and 16) and
/// ds_bpermute (32), and one float for each wave in LDS, which the first lane writes in a block of its own. The barrier is between fences, as
/// it waits for no access.

// CHECK-LABEL: llvm.func @sum(
//   CHECK-DAG:   %[[QUAD1:.*]] = llvm.mlir.constant(177 : i32)
//   CHECK-DAG:   %[[QUAD2:.*]] = llvm.mlir.constant(78 : i32)
//   CHECK-DAG:   %[[ROTATE:.*]] = llvm.mlir.constant(296 : i32)
//   CHECK-DAG:   %[[XOR4:.*]] = llvm.mlir.constant(4127 : i32)
//   CHECK-DAG:   %[[XOR16:.*]] = llvm.mlir.constant(16415 : i32)
//       CHECK:   llvm.call_intrinsic "llvm.amdgcn.update.dpp.i32"(%{{.*}}, %{{.*}}, %[[QUAD1]],
//       CHECK:   llvm.call_intrinsic "llvm.amdgcn.update.dpp.i32"(%{{.*}}, %{{.*}}, %[[QUAD2]],
//       CHECK:   llvm.call_intrinsic "llvm.amdgcn.ds.swizzle"(%{{.*}}, %[[XOR4]])
//       CHECK:   llvm.call_intrinsic "llvm.amdgcn.update.dpp.i32"(%{{.*}}, %{{.*}}, %[[ROTATE]],
//       CHECK:   llvm.call_intrinsic "llvm.amdgcn.ds.swizzle"(%{{.*}}, %[[XOR16]])
//       CHECK:   llvm.call_intrinsic "llvm.amdgcn.ds.bpermute"
//       CHECK:   %[[WAVE_SUM:.*]] = lane.map(%{{.*}}, %{{.*}}) : (f32, f32) -> f32
//       CHECK:   %[[IS_FIRST:.*]] = llvm.icmp "eq"
//       CHECK:   llvm.cond_br %[[IS_FIRST]], ^[[WRITE:.*]], ^[[AFTER:.*]]
//       CHECK: ^[[WRITE]]:
//       CHECK:   llvm.store %[[WAVE_SUM]], %{{.*}} : f32, !llvm.ptr<3>
//       CHECK:   llvm.br ^[[AFTER]]
//       CHECK: ^[[AFTER]]:
//       CHECK:   llvm.fence syncscope("workgroup") release
//       CHECK:   llvm.call_intrinsic "llvm.amdgcn.s.barrier"
//       CHECK:   llvm.fence syncscope("workgroup") acquire
// CHECK-COUNT-2: llvm.load %{{.*}} : !llvm.ptr<3> -> f32
#tile = #sm.layout<[2 warp, 64 lane, 4 reg]>
#sum = #sm.layout<copies [64 lane, 2 warp]>
sm.kernel @sum grid [1] inputs 1 warps 2 {
^bb0(%i: index, %x: memref<512xf32>, %out: memref<f32>):
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %t = tile.load %x[%c0] : memref<512xf32> -> tensor<512xf32, #tile>
  %s = tile.reduce %t init %zero : f32 dims [0] : tensor<512xf32, #tile> -> tensor<f32, #sum> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
  tile.store %s, %out[] : tensor<f32, #sum>, memref<f32>
}
