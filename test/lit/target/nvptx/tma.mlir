// RUN: not tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_90a" -o /dev/null 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t

/// A row of 128 f16 is two lines of 128 bytes, so the copy is two boxes: the second one starts 64 elements to the right.

// CHECK-LABEL: llvm.func @boxes(
//  CHECK-SAME:   %[[A:arg3]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}, %[[B:arg4]]: !llvm.ptr
//   CHECK-DAG:   %[[LINE:.*]] = llvm.mlir.constant(64 : i32)
//   CHECK-DAG:   %[[BOX:.*]] = llvm.mlir.constant(8192 : i32)
//       CHECK:   %[[ROW:.*]] = llvm.mul %{{.*}} : i64
//       CHECK:   mbarrier.arrive.expect_tx
//       CHECK:   %[[X:.*]] = llvm.trunc %{{.*}} : i64 to i32
//       CHECK:   %[[Y:.*]] = llvm.trunc %[[ROW]] : i64 to i32
//       CHECK:   nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[A]], %{{.*}}, box[%[[X]], %[[Y]]] : !llvm.ptr<7>, !llvm.ptr
//       CHECK:   %[[X:.*]] = llvm.trunc %{{.*}} : i64 to i32
//       CHECK:   %[[Y:.*]] = llvm.trunc %{{.*}} : i64 to i32
//       CHECK:   %[[FULL:.*]] = llvm.inttoptr %{{.*}} : i32 to !llvm.ptr<3>
//       CHECK:   %[[TO:.*]] = llvm.inttoptr %[[ADDRESS:.*]] : i32 to !llvm.ptr<7>
//       CHECK:   nvvm.cp.async.bulk.tensor.shared.cluster.global %[[TO]], %[[B]], %[[FULL]], box[%[[X]], %[[Y]]]
//       CHECK:   %[[NEXT_X:.*]] = llvm.add %[[X]], %[[LINE]]
//       CHECK:   %[[NEXT:.*]] = llvm.add %[[ADDRESS]], %[[BOX]]
//       CHECK:   %[[TO:.*]] = llvm.inttoptr %[[NEXT]] : i32 to !llvm.ptr<7>
//       CHECK:   nvvm.cp.async.bulk.tensor.shared.cluster.global %[[TO]], %[[B]], %[[FULL]], box[%[[NEXT_X]], %[[Y]]]
//   CHECK-NOT:   nvvm.cp.async.bulk
//       CHECK:   llvm.return
!x = !sm.buffer<64x64xf16, shared, <[64 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!wide = !sm.buffer<64x128xf16, shared, <[64 offset:64] [2 offset:4096, 64 offset] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!x, !wide>
#acc = #sm.layout<[4 warp, 2 reg:2, 8 lane:4] [16 reg:4, 4 lane, 2 reg]>
sm.kernel @boxes grid [4] inputs 2 warps 8 {
^bb0(%i: index, %a: memref<256x64xf16>, %b: memref<64x128xf16>, %out: memref<256x128xf32>):
  %c0 = arith.constant 0 : index
  %o = affine.apply affine_map<(i) -> (i * 64)>(%i)
  %in = sm.channel depth 1 : !in
  sm.role "load" warps 4 registers 40 {
    %slot:2 = sm.acquire %in : !in
    sm.copy tma %a[%o, %c0] to %slot#0 : memref<256x64xf16> to !x
    sm.copy tma %b[%c0, %c0] to %slot#1 : memref<64x128xf16> to !wide
    sm.publish %in : !in
  }
  sm.role "math" warps 4 registers 232 {
    %full:2 = sm.take %in : !in
    %sum = sm.mma wgmma %full#0, %full#1 : !x, !wide -> tensor<64x128xf32, #acc>
    sm.free %in : !in
    tile.store %sum, %out[%o, %c0] : tensor<64x128xf32, #acc>, memref<256x128xf32>
  }
}

/// In a cluster of 2, each CTA copies its half of the rows of a buffer with copies on `cta`, and the copy engine writes it to both
/// CTAs. A buffer that is divided over `cta` is copied without multicast, at a coordinate that depends on the rank.

// CHECK-LABEL: llvm.func @multicast(
//  CHECK-SAME:   nvvm.cluster_dim = array<i32: 2, 1, 1>
//   CHECK-DAG:   %[[BOTH:.*]] = llvm.mlir.constant(3 : i16)
//   CHECK-DAG:   %[[BOX_ROWS:.*]] = llvm.mlir.constant(32 : i32)
//   CHECK-DAG:   %[[COLUMNS:.*]] = llvm.mlir.constant(64 : i32)
//   CHECK-DAG:   %[[TWO:.*]] = llvm.mlir.constant(2 : i32)
/// The empty barrier counts an arrival of each CTA.
//       CHECK:   nvvm.mbarrier.init
//       CHECK:   nvvm.mbarrier.init %{{.*}}, %[[TWO]]
//       CHECK:   nvvm.fence.mbarrier.init
//       CHECK:   nvvm.cluster.arrive
//       CHECK:   nvvm.cluster.wait
//       CHECK:   mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64
//       CHECK:   %[[RANK:.*]] = nvvm.read.ptx.sreg.cluster.ctarank
//       CHECK:   %[[ROWS:.*]] = llvm.mul %[[RANK]], %[[BOX_ROWS]]
//       CHECK:   %[[Y:.*]] = llvm.add %{{.*}}, %[[ROWS]]
//       CHECK:   %[[BYTES:.*]] = llvm.mul %[[ROWS]],
//       CHECK:   %[[ADDRESS:.*]] = llvm.add %{{.*}}, %[[BYTES]]
//       CHECK:   %[[TO:.*]] = llvm.inttoptr %[[ADDRESS]] : i32 to !llvm.ptr<7>
//       CHECK:   nvvm.cp.async.bulk.tensor.shared.cluster.global %[[TO]], %arg3, %{{.*}}, box[%{{.*}}, %[[Y]]] multicast_mask = %[[BOTH]] :
//       CHECK:   %[[RANK:.*]] = nvvm.read.ptx.sreg.cluster.ctarank
//       CHECK:   %[[COLUMN:.*]] = llvm.mul %[[RANK]], %[[COLUMNS]]
//       CHECK:   %[[X:.*]] = llvm.add %{{.*}}, %[[COLUMN]]
//       CHECK:   nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %arg4, %{{.*}}, box[%[[X]], %{{.*}}] :
/// Thread i of a draining warpgroup arrives in CTA i, and no CTA exits before the arrivals of others.
//       CHECK:   @on mapa.shared::cluster.u32 there, $0, $2;{{.*}}@on mbarrier.arrive.shared::cluster.b64 _, [there];
//       CHECK:   nvvm.cluster.arrive
//       CHECK:   nvvm.cluster.wait
//  CHECK-NEXT:   llvm.return
!both = !sm.buffer<64x64xf16, shared, <[64 offset:64] [64 offset] copies [2 cta] xor [offset 6:3 to offset 3]>>
!half = !sm.buffer<64x128xf16, shared, <[64 offset:64] [2 cta, 64 offset] xor [offset 6:3 to offset 3]>>
!pair = !sm.channel<!both, !half>
#part = #sm.layout<[4 warp, 2 reg:2, 8 lane:4] [2 cta, 8 reg:4, 4 lane, 2 reg]>
sm.kernel @multicast grid [4] inputs 2 warps 8 cluster [2, 1, 1] {
^bb0(%i: index, %a: memref<256x64xf16>, %b: memref<64x128xf16>, %out: memref<256x128xf32>):
  %c0 = arith.constant 0 : index
  %o = affine.apply affine_map<(i) -> (i * 64)>(%i)
  %in = sm.channel depth 1 : !pair
  sm.role "load" warps 4 registers 40 {
    %slot:2 = sm.acquire %in : !pair
    sm.copy tma %a[%o, %c0] to %slot#0 : memref<256x64xf16> to !both
    sm.copy tma %b[%c0, %c0] to %slot#1 : memref<64x128xf16> to !half
    sm.publish %in : !pair
  }
  sm.role "math" warps 4 registers 232 {
    %full:2 = sm.take %in : !pair
    %sum = sm.mma wgmma %full#0, %full#1 : !both, !half -> tensor<64x128xf32, #part>
    sm.free %in : !pair
    tile.store %sum, %out[%o, %c0] : tensor<64x128xf32, #part>, memref<256x128xf32>
  }
}

/// Rows that go through three dimensions of memory are one box of four dimensions. Where the order of the rows is not that of memory (rows of `b` are 4
/// columns of 16 images each), the tensor map has the dimensions in the order of the rows. In a cluster of 2, each CTA copies one of the two
/// images of `a`, with every second pixel, and its half of the columns of `b`, in steps of 2.

// CHECK-LABEL: llvm.func @pixels(
//   CHECK-DAG:   %[[ONE:.*]] = llvm.mlir.constant(1 : i32)
//   CHECK-DAG:   %[[TWO:.*]] = llvm.mlir.constant(2 : i32)
//       CHECK:   %[[RANK:.*]] = nvvm.read.ptx.sreg.cluster.ctarank
//       CHECK:   nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %arg3, %{{.*}}, box[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] :
//       CHECK:   %[[STEP:.*]] = llvm.mul %{{.*}}, %[[TWO]]
//       CHECK:   %[[COLUMN:.*]] = llvm.add %{{.*}}, %[[STEP]]
//       CHECK:   nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %arg4, %{{.*}}, box[%{{.*}}, %{{.*}}, %[[COLUMN]], %{{.*}}] multicast_mask
!images = !sm.buffer<128x64xf16, shared, <[2 cta, 64 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!columns = !sm.buffer<64x64xf16, shared, <[64 offset:64] [64 offset] copies [2 cta] xor [offset 6:3 to offset 3]>>
!boxes = !sm.channel<!images, !columns>
#rows = #sm.layout<[2 cta, 4 warp, 2 reg:2, 8 lane:4] [8 reg:4, 4 lane, 2 reg]>
sm.kernel @pixels grid [4] inputs 2 warps 8 cluster [2, 1, 1] {
^bb0(%i: index, %a: memref<8x16x16x64xf16>, %b: memref<16x8x8x64xf16>, %out: memref<512x64xf32>):
  %c0 = arith.constant 0 : index
  %n = affine.apply affine_map<(i) -> (i * 2)>(%i)
  %o = affine.apply affine_map<(i) -> (i * 128)>(%i)
  %in = sm.channel depth 1 : !boxes
  sm.role "load" warps 4 registers 40 {
    %slot:2 = sm.acquire %in : !boxes
    sm.copy tma %a[%n, %c0, %c0, %c0] to %slot#0 dims [0, 1, 2, 3] box [2, 8, 8, 64] strides [1, 2, 2, 1] : memref<8x16x16x64xf16> to !images
    sm.copy tma %b[%c0, %c0, %i, %c0] to %slot#1 dims [2, 0, 3] box [4, 16, 64] : memref<16x8x8x64xf16> to !columns
    sm.publish %in : !boxes
  }
  sm.role "math" warps 4 registers 232 {
    %full:2 = sm.take %in : !boxes
    %sum = sm.mma wgmma %full#0, %full#1 : !images, !columns -> tensor<128x64xf32, #rows>
    sm.free %in : !boxes
    tile.store %sum, %out[%o, %c0] : tensor<128x64xf32, #rows>, memref<512x64xf32>
  }
}

// -----

// ERROR: E4051 target: while compiling kernel no_swizzle: 'sm.copy' at {{.*}} must have a buffer of swizzled lines of 128, 64, 32 or 16 bytes in 1 CTAs, got [64 offset:64] [64 offset]
!x = !sm.buffer<64x64xf16, shared, <[64 offset:64] [64 offset]>>
!in = !sm.channel<!x>
sm.kernel @no_swizzle grid [1] inputs 1 warps 8 {
^bb0(%i: index, %a: memref<64x64xf16>, %out: memref<64x64xf32>):
  %c0 = arith.constant 0 : index
  %in = sm.channel depth 1 : !in
  sm.role "load" warps 4 registers 40 {
    %slot = sm.acquire %in : !in
    sm.copy tma %a[%c0, %c0] to %slot : memref<64x64xf16> to !x
    sm.publish %in : !in
  }
  sm.role "math" warps 4 registers 232 {
    %full = sm.take %in : !in
    sm.free %in : !in
  }
}

// -----

// ERROR: E4051 target: while compiling kernel large_stride: 'sm.copy' at {{.*}} has 8 rows with a stride of 9, but a TMA box spans at most 256 and a stride is at most 8 (1 in stores)
!x = !sm.buffer<64x64xf16, shared, <[64 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!x>
sm.kernel @large_stride grid [1] inputs 1 warps 8 {
^bb0(%i: index, %a: memref<80x80x64xf16>, %out: memref<64x64xf32>):
  %c0 = arith.constant 0 : index
  %in = sm.channel depth 1 : !in
  sm.role "load" warps 4 registers 40 {
    %slot = sm.acquire %in : !in
    sm.copy tma %a[%c0, %c0, %c0] to %slot dims [0, 1, 2] box [8, 8, 64] strides [9, 1, 1] : memref<80x80x64xf16> to !x
    sm.publish %in : !in
  }
  sm.role "math" warps 4 registers 232 {
    %full = sm.take %in : !in
    sm.free %in : !in
  }
}
