// RUN: not tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_100a" -o /dev/null 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t

/// The thread that copies requests the next point at the start of each round. Every role waits for the answer at the end of its
/// own, and each of its warps (or its one thread) then says that it has read it: 4 warps, and 2 threads.

// CHECK-LABEL: llvm.func @stolen(
//   CHECK-DAG:   %[[READERS:.*]] = llvm.mlir.constant(6 : i32)
//       CHECK:   nvvm.mbarrier.init %{{.*}}, %[[READERS]]
/// the epilogue
//       CHECK:   llvm.br ^[[ROUND:.*]](%{{.*}}, %{{.*}} : i32, i32)
//       CHECK: ^[[ROUND]](%{{.*}}: i32, %[[NUMBER:.*]]: i32):
//   CHECK-NOT:   clusterlaunchcontrol.try.cancel
//       CHECK:   nvvm.tcgen05.ld
//       CHECK:   mbarrier.try_wait.parity.shared::cta
//       CHECK:   %[[ANSWER:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> i128
//       CHECK:   %[[EXISTS:.*]] = nvvm.clusterlaunchcontrol.query.cancel query = is_canceled, %[[ANSWER]] : i1
//       CHECK:   %[[BLOCK:.*]] = nvvm.clusterlaunchcontrol.query.cancel query = get_first_cta_id_x, %[[ANSWER]] : i32
//       CHECK:   nvvm.fence.proxy
//       CHECK:   nvvm.bar.warp.sync
//       CHECK:   mbarrier.arrive.shared::cta
//       CHECK:   %[[POINT:.*]] = llvm.udiv %[[BLOCK]],
//       CHECK:   %[[NEXT:.*]] = llvm.add %[[NUMBER]],
//       CHECK:   llvm.cond_br %[[EXISTS]], ^[[ROUND]](%[[POINT]], %[[NEXT]] : i32, i32), ^
/// the copies
//       CHECK:   mbarrier.arrive.expect_tx.shared::cta
//       CHECK:   mbarrier.try_wait.parity.shared::cta
//       CHECK:   nvvm.clusterlaunchcontrol.try.cancel %{{.*}}, %{{.*}}
//       CHECK:   nvvm.cp.async.bulk.tensor.shared.cluster.global
//       CHECK:   nvvm.clusterlaunchcontrol.query.cancel
/// the products
//       CHECK:   nvvm.tcgen05.mma
//       CHECK:   nvvm.clusterlaunchcontrol.query.cancel
!x = !sm.buffer<128x64xf16, shared, <[128 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!y = !sm.buffer<64x16xf16, shared, <[64 offset] [16 offset:64] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!x, !y>
!sum = !sm.buffer<128x16xf32, tensor, <[128 tmem_lane] [16 tmem_col]>>
!acc = !sm.channel<!sum>
#regs = #sm.layout<[4 warp, 2 reg:8, 2 reg:2, 8 lane:4] [2 reg:4, 4 lane, 2 reg]>
sm.kernel @stolen grid [1000] inputs 2 warps 6 persistent "stealing" {
^bb0(%i: index, %a: memref<128000x64xf16>, %b: memref<16x64xf16>, %out: memref<128000x16xf32>):
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %m = affine.apply affine_map<(i) -> (i * 128)>(%i)
  %in = sm.channel depth 3 : !in
  %acc = sm.channel depth 2 : !acc
  sm.role "epilogue" warps 4 registers 248 {
    %full = sm.take %acc : !acc
    %sum = sm.copy tmem %full : !sum -> tensor<128x16xf32, #regs>
    sm.free %acc : !acc
    tile.store %sum, %out[%m, %c0] : tensor<128x16xf32, #regs>, memref<128000x16xf32>
  }
  sm.role "load" warps 1 registers 248 {
    %slot:2 = sm.acquire %in : !in
    sm.copy tma %a[%m, %c0] to %slot#0 : memref<128000x64xf16> to !x
    sm.copy tma %b[%c0, %c0] to %slot#1 transposed : memref<16x64xf16> to !y
    sm.publish %in : !in
  }
  sm.role "mma" warps 1 registers 248 {
    %into = sm.acquire %acc : !acc
    %slot:2 = sm.take %in : !in
    sm.mma tcgen05 %slot#0, %slot#1 into %into zero %true : !x, !y, !sum
    sm.free %in : !in
    sm.publish %acc : !acc
  }
}

// -----

/// The first CTA of a pair requests for both: the answer is written to both, and the readers of both arrive at its barriers.
/// These are 4 warps and a thread in each, and the thread that multiplies for both.

// CHECK-LABEL: llvm.func @pair(
//   CHECK-DAG:   %[[READERS:.*]] = llvm.mlir.constant(11 : i32)
//       CHECK:   nvvm.mbarrier.init %{{.*}}, %[[READERS]]
//       CHECK:   nvvm.clusterlaunchcontrol.query.cancel
//       CHECK:   mapa.shared::cluster.u32 there, $0, 0;
//       CHECK:   mbarrier.arrive.expect_tx.shared::cta
//       CHECK:   %[[RANK:.*]] = nvvm.read.ptx.sreg.cluster.ctarank
//       CHECK:   %[[FIRST:.*]] = llvm.icmp "eq" %[[RANK]],
//       CHECK:   llvm.cond_br %[[FIRST]], ^[[REQUEST:.*]], ^
//       CHECK: ^[[REQUEST]]:
//       CHECK:   mbarrier.try_wait.parity.acquire.cluster
//       CHECK:   nvvm.clusterlaunchcontrol.try.cancel multicast, %{{.*}}, %{{.*}}
!x = !sm.buffer<256x64xf16, shared, <[2 cta, 128 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!y = !sm.buffer<64x32xf16, shared, <[64 offset] [2 cta, 16 offset:64] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!x, !y>
!sum = !sm.buffer<256x32xf32, tensor, <[2 cta, 128 tmem_lane] [32 tmem_col]>>
!acc = !sm.channel<!sum>
#regs = #sm.layout<[2 cta, 4 warp, 2 reg:16, 2 reg:2, 8 lane:4] [4 reg:4, 4 lane, 2 reg]>
sm.kernel @pair grid [1000] inputs 2 warps 6 cluster [2, 1, 1] persistent "stealing" {
^bb0(%i: index, %a: memref<256000x64xf16>, %b: memref<32x64xf16>, %out: memref<256000x32xf32>):
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %m = affine.apply affine_map<(i) -> (i * 256)>(%i)
  %in = sm.channel depth 3 : !in
  %acc = sm.channel depth 2 : !acc
  sm.role "epilogue" warps 4 registers 248 {
    %full = sm.take %acc : !acc
    %sum = sm.copy tmem %full : !sum -> tensor<256x32xf32, #regs>
    sm.free %acc : !acc
    tile.store %sum, %out[%m, %c0] : tensor<256x32xf32, #regs>, memref<256000x32xf32>
  }
  sm.role "load" warps 1 registers 248 {
    %slot:2 = sm.acquire %in : !in
    sm.copy tma %a[%m, %c0] to %slot#0 : memref<256000x64xf16> to !x
    sm.copy tma %b[%c0, %c0] to %slot#1 transposed : memref<32x64xf16> to !y
    sm.publish %in : !in
  }
  sm.role "mma" warps 1 registers 248 {
    %into = sm.acquire %acc : !acc
    %slot:2 = sm.take %in : !in
    sm.mma tcgen05 %slot#0, %slot#1 into %into zero %true : !x, !y, !sum
    sm.free %in : !in
    sm.publish %acc : !acc
  }
}

// -----

/// If a program may use only a part of the chip, the launch leaves the rest free.

// CHECK-LABEL: llvm.func @part(
//   CHECK-NOT:   clusterlaunchcontrol
//       CHECK:   llvm.return
module attributes {exec.target = #exec.target<chip = "sm_100a", units = 8, gpu = <>>} {
sm.kernel @part grid [1000] inputs 1 warps 4 persistent "stealing" {
^bb0(%i: index, %x: memref<1000x32xf32>, %out: memref<1000x32xf32>):
  %c0 = arith.constant 0 : index
  sm.role "all" warps 4 registers 248 {
    %t = tile.load %x[%i, %c0] : memref<1000x32xf32> -> tensor<1x32xf32, #sm.layout<[] [32 lane] copies [4 warp]>>
    tile.store %t, %out[%i, %c0] : tensor<1x32xf32, #sm.layout<[] [32 lane] copies [4 warp]>>, memref<1000x32xf32>
  }
}
}

// -----

// ERROR: E4051 target: while compiling kernel alone: 'sm.kernel' at {{.*}} is persistent by stealing, which needs a role that only copies, on a chip with tensor memory, got sm_100a
sm.kernel @alone grid [1000] inputs 1 warps 4 persistent "stealing" {
^bb0(%i: index, %x: memref<1000x32xf32>, %out: memref<1000x32xf32>):
  %c0 = arith.constant 0 : index
  sm.role "all" warps 4 registers 248 {
    %t = tile.load %x[%i, %c0] : memref<1000x32xf32> -> tensor<1x32xf32, #sm.layout<[] [32 lane] copies [4 warp]>>
    tile.store %t, %out[%i, %c0] : tensor<1x32xf32, #sm.layout<[] [32 lane] copies [4 warp]>>, memref<1000x32xf32>
  }
}
