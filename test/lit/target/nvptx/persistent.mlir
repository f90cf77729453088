// RUN: not tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_90a" -o /dev/null 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t

/// Each role of a persistent kernel loops over its points, from the CTA's number in steps of the number of CTAs, with its own
/// copy of the ops before the roles. Slots and phases continue from point to point, in variables of the thread.

// CHECK-LABEL: llvm.func @points(
//   CHECK-DAG:   %[[CTAS:.*]] = llvm.mlir.constant(132 : i32)
//   CHECK-DAG:   %[[POINTS:.*]] = llvm.mlir.constant(1000 : i32)
//   CHECK-DAG:   %[[COLUMNS:.*]] = llvm.mlir.constant(2 : i32)
//       CHECK:   %[[SLOT:.*]] = llvm.alloca
//       CHECK:   nvvm.setmaxregister decrease 40
//       CHECK:   %[[CTA:.*]] = nvvm.read.ptx.sreg.ctaid.x
//       CHECK:   %[[FIRST:.*]] = llvm.udiv %[[CTA]],
//       CHECK:   llvm.br ^[[LOAD:.*]](%[[FIRST]] : i32)
//       CHECK: ^[[LOAD]](%[[POINT:.*]]: i32):
//       CHECK:   llvm.urem %[[POINT]], %[[COLUMNS]]
//       CHECK:   llvm.udiv %[[POINT]], %[[COLUMNS]]
//       CHECK:   llvm.load %[[SLOT]]
//       CHECK:   nvvm.cp.async.bulk.tensor.shared.cluster.global
//       CHECK:   %[[NEXT:.*]] = llvm.add %[[POINT]], %[[CTAS]] overflow<nsw, nuw>
//       CHECK:   %[[AGAIN:.*]] = llvm.icmp "slt" %[[NEXT]], %[[POINTS]]
//       CHECK:   llvm.cond_br %[[AGAIN]], ^[[LOAD]](%[[NEXT]] : i32), ^
//       CHECK:   nvvm.setmaxregister decrease 232
//       CHECK:   nvvm.read.ptx.sreg.ctaid.x
//       CHECK:   llvm.br ^[[MATH:.*]](%{{.*}} : i32)
//       CHECK: ^[[MATH]](%[[POINT:.*]]: i32):
//       CHECK:   wgmma.mma_async
//       CHECK:   llvm.store %{{.*}} : vector<2xf32>, !llvm.ptr<1>
//       CHECK:   %[[NEXT:.*]] = llvm.add %[[POINT]], %[[CTAS]] overflow<nsw, nuw>
//       CHECK:   llvm.cond_br %{{.*}}, ^[[MATH]](%[[NEXT]] : i32), ^
!x = !sm.buffer<64x64xf16, shared, <[64 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!y = !sm.buffer<64x8xf16, shared, <[64 offset] [8 offset:64] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!x, !y>
#acc = #sm.layout<[4 warp, 2 reg:2, 8 lane:4] [4 lane, 2 reg]>
sm.kernel @points grid [500, 2] inputs 2 warps 8 persistent "static" {
^bb0(%i: index, %j: index, %a: memref<32000x64xf16>, %b: memref<16x64xf16>, %out: memref<32000x16xf32>):
  %c0 = arith.constant 0 : index
  %m = affine.apply affine_map<(i) -> (i * 64)>(%i)
  %n = affine.apply affine_map<(i) -> (i * 8)>(%j)
  %in = sm.channel depth 2 : !in
  sm.role "load" warps 4 registers 40 {
    %slot:2 = sm.acquire %in : !in
    sm.copy tma %a[%m, %c0] to %slot#0 : memref<32000x64xf16> to !x
    sm.copy tma %b[%n, %c0] to %slot#1 transposed : memref<16x64xf16> to !y
    sm.publish %in : !in
  }
  sm.role "math" warps 4 registers 232 {
    %full:2 = sm.take %in : !in
    %sum = sm.mma wgmma %full#0, %full#1 : !x, !y -> tensor<64x8xf32, #acc>
    sm.free %in : !in
    tile.store %sum, %out[%m, %n] : tensor<64x8xf32, #acc>, memref<32000x16xf32>
  }
}

/// A raster of 4 goes down 4 rows of points before the next column.

// CHECK-LABEL: llvm.func @raster(
//   CHECK-DAG:   %[[HEIGHT:.*]] = llvm.mlir.constant(4 : i32)
//   CHECK-DAG:   %[[BAND:.*]] = llvm.mlir.constant(64 : i32)
//       CHECK:   %[[CTA:.*]] = nvvm.read.ptx.sreg.ctaid.x
//       CHECK:   %[[POINT:.*]] = llvm.udiv %[[CTA]],
//       CHECK:   %[[NUMBER:.*]] = llvm.udiv %[[POINT]], %[[BAND]]
//       CHECK:   %[[INSIDE:.*]] = llvm.urem %[[POINT]], %[[BAND]]
//       CHECK:   %[[TOP:.*]] = llvm.mul %[[NUMBER]], %[[HEIGHT]]
//       CHECK:   %[[ROW:.*]] = llvm.urem %[[INSIDE]], %[[HEIGHT]]
//       CHECK:   llvm.add %[[TOP]], %[[ROW]]
//       CHECK:   llvm.udiv %[[INSIDE]], %[[HEIGHT]]
#lanes = #sm.layout<[] [] [32 lane]>
sm.kernel @raster grid [8, 16] inputs 1 warps 1 raster 4 {
^bb0(%i: index, %j: index, %x: memref<8x16x32xf32>, %out: memref<8x16x32xf32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%i, %j, %c0] : memref<8x16x32xf32> -> tensor<1x1x32xf32, #lanes>
  tile.store %t, %out[%i, %j, %c0] : tensor<1x1x32xf32, #lanes>, memref<8x16x32xf32>
}

// -----

// ERROR: E4051 target: while compiling kernel no_roles: 'sm.kernel' at {{.*}} is persistent but has no roles, which the GPU target does not support
#lanes = #sm.layout<[32 lane]>
sm.kernel @no_roles grid [4] inputs 1 warps 1 persistent "static" {
^bb0(%i: index, %x: memref<128xf32>, %out: memref<128xf32>):
  %o = affine.apply affine_map<(i) -> (i * 32)>(%i)
  %t = tile.load %x[%o] : memref<128xf32> -> tensor<32xf32, #lanes>
  tile.store %t, %out[%o] : tensor<32xf32, #lanes>, memref<128xf32>
}
