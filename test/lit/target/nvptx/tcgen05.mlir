// RUN: not tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_100a" -o /dev/null 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t

/// One warp allocates tensor memory and one thread multiplies: the unit frees the slots that it has read and publishes the
/// accumulator, by commits. The warps of the epilogue read their quarters of the lanes, and the first one ends the allocation.

// CHECK-LABEL: llvm.func @accumulate(
//       CHECK:   nvvm.mbarrier.init
//       CHECK:   nvvm.tcgen05.alloc %{{.*}}, %[[COLUMNS:.*]] : !llvm.ptr<3>, i32
//       CHECK:   nvvm.tcgen05.relinquish_alloc_permit
//       CHECK:   nvvm.tcgen05.fence <before>
//       CHECK:   llvm.nvvm.barrier.cta.sync.all
//       CHECK:   nvvm.tcgen05.fence <after>
/// the epilogue: two loads for the halves of a quarter, a wait through which the registers pass, and an arrival of each warp
//       CHECK:   mbarrier.try_wait
//       CHECK:   nvvm.tcgen05.fence <after>
//       CHECK:   nvvm.tcgen05.ld %{{.*}} {shape = #nvvm.tcgen05_ldst_shape<shape_16x256b>} : vector<8xi32>
//       CHECK:   nvvm.tcgen05.ld %{{.*}} {shape = #nvvm.tcgen05_ldst_shape<shape_16x256b>} : vector<8xi32>
//       CHECK:   "tcgen05.wait::ld.sync.aligned;", "=r,=r,=r,=r,=r,=r,=r,=r,=r,=r,=r,=r,=r,=r,=r,=r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,~{memory}"
//       CHECK:   nvvm.tcgen05.fence <before>
//       CHECK:   nvvm.bar.warp.sync
//       CHECK:   @on mbarrier.arrive.shared::cta.b64
//       CHECK:   llvm.store {{.*}}, !llvm.ptr<1>
//       CHECK:   nvvm.barrier id = %{{.*}} number_of_threads = %{{.*}}
//       CHECK:   nvvm.tcgen05.dealloc %{{.*}}, %[[COLUMNS]] : !llvm.ptr<6>, i32
/// the copies need no registers of others
//   CHECK-NOT:   setmaxregister
//       CHECK:   nvvm.cp.async.bulk.tensor.shared.cluster.global
/// the products: four steps of K in a line, of which the first does not add in the first iteration
//       CHECK:   mbarrier.try_wait
//       CHECK:   nvvm.tcgen05.fence <after>
/// after the loop: the accumulator is full when all products are complete
//       CHECK:   nvvm.tcgen05.commit
//       CHECK:   mbarrier.try_wait
//       CHECK:   %[[ADDS:.*]] = llvm.icmp "eq" %{{.*}}, %{{.*}} : i1
//       CHECK:   nvvm.tcgen05.mma %{{.*}}, %{{.*}}, %{{.*}}, %[[KIND:.*]], %[[ADDS]] {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>}
// CHECK-COUNT-3: nvvm.tcgen05.mma
//   CHECK-NOT:   nvvm.tcgen05.mma
//       CHECK:   nvvm.tcgen05.commit
!x = !sm.buffer<128x64xf16, shared, <[128 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!y = !sm.buffer<64x16xf16, shared, <[64 offset] [16 offset:64] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!x, !y>
!sum = !sm.buffer<128x16xf32, tensor, <[128 tmem_lane] [16 tmem_col]>>
!acc = !sm.channel<!sum>
#regs = #sm.layout<[4 warp, 2 reg:8, 2 reg:2, 8 lane:4] [2 reg:4, 4 lane, 2 reg]>
sm.kernel @accumulate grid [1] inputs 2 warps 6 {
^bb0(%i: index, %a: memref<128x256xf16>, %b: memref<16x256xf16>, %out: memref<128x16xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %in = sm.channel depth 3 : !in
  %acc = sm.channel depth 1 : !acc
  sm.role "epilogue" warps 4 registers 248 {
    %full = sm.take %acc : !acc
    %sum = sm.copy tmem %full : !sum -> tensor<128x16xf32, #regs>
    sm.free %acc : !acc
    tile.store %sum, %out[%c0, %c0] : tensor<128x16xf32, #regs>, memref<128x16xf32>
    tile.yield
  }
  sm.role "load" warps 1 registers 248 {
    scf.for %k = %c0 to %c4 step %c1 {
      %at = arith.muli %k, %c64 : index
      %slot:2 = sm.acquire %in : !in
      sm.copy tma %a[%c0, %at] to %slot#0 : memref<128x256xf16> to !x
      sm.copy tma %b[%c0, %at] to %slot#1 transposed : memref<16x256xf16> to !y
      sm.publish %in : !in
    }
    tile.yield
  }
  sm.role "mma" warps 1 registers 248 {
    %into = sm.acquire %acc : !acc
    scf.for %k = %c0 to %c4 step %c1 {
      %slot:2 = sm.take %in : !in
      %fresh = arith.cmpi eq, %k, %c0 : index
      sm.mma tcgen05 %slot#0, %slot#1 into %into zero %fresh : !x, !y, !sum
      sm.free %in : !in
    }
    sm.publish %acc : !acc
    tile.yield
  }
  tile.yield
}

// -----

/// Three accumulators of 256 columns are more than the chip has.

// ERROR: E4058 target: while compiling kernel too_much: needs 1024 columns of tensor memory, but sm_100a has 512: 'sm.channel' at {{.*}} has 512, 'sm.channel' at {{.*}} has 256; use smaller tiles or fewer slots
!sum = !sm.buffer<128x256xf32, tensor, <[128 tmem_lane] [256 tmem_col]>>
!acc = !sm.channel<!sum>
sm.kernel @too_much grid [1] inputs 0 warps 4 {
^bb0(%i: index, %out: memref<128x16xf32>):
  %one = sm.channel depth 1 : !acc
  %two = sm.channel depth 2 : !acc
  sm.role "epilogue" warps 4 registers 248 {
    tile.yield
  }
  tile.yield
}

// -----

/// Loads of tensor memory prescribe the layout of registers.

// ERROR: E4051 target: while compiling kernel other_layout: 'sm.copy' at {{.*}} reads [128 tmem_lane] [16 tmem_col] into {{.*}}, which is not the layout of 16x256b loads
!sum = !sm.buffer<128x16xf32, tensor, <[128 tmem_lane] [16 tmem_col]>>
!acc = !sm.channel<!sum>
#rows = #sm.layout<[4 warp, 32 lane] [2 reg, 8 reg:2]>
sm.kernel @other_layout grid [1] inputs 0 warps 4 {
^bb0(%i: index, %out: memref<128x16xf32>):
  %c0 = arith.constant 0 : index
  %acc = sm.channel depth 1 : !acc
  sm.role "epilogue" warps 4 registers 248 {
    %full = sm.take %acc : !acc
    %sum = sm.copy tmem %full : !sum -> tensor<128x16xf32, #rows>
    sm.free %acc : !acc
    tile.store %sum, %out[%c0, %c0] : tensor<128x16xf32, #rows>, memref<128x16xf32>
    tile.yield
  }
  tile.yield
}
// -----

/// Two CTAs multiply together: both allocate, copies of both signal the first, whose thread multiplies for both, and commits
/// arrive in both.

// CHECK-LABEL: llvm.func @pair(
//       CHECK:   nvvm.tcgen05.alloc {{.*}} {group = #nvvm.cta_group<cta_2>}
//       CHECK:   nvvm.tcgen05.relinquish_alloc_permit {group = #nvvm.cta_group<cta_2>}
//       CHECK:   nvvm.cluster.wait
//       CHECK:   nvvm.tcgen05.dealloc {{.*}} {group = #nvvm.cta_group<cta_2>}
//       CHECK:   mbarrier.try_wait.parity.acquire.cluster
//       CHECK:   @on mbarrier.arrive.expect_tx.shared::cta.b64
//       CHECK:   nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}}group = #nvvm.cta_group<cta_2>
//       CHECK:   nvvm.tcgen05.commit {{.*}}, multicast_mask = {{.*}} {group = #nvvm.cta_group<cta_2>}
//       CHECK:   nvvm.tcgen05.mma {{.*}} {ctaGroup = #nvvm.cta_group<cta_2>, kind = #nvvm.tcgen05_mma_kind<f16>}
//       CHECK:   nvvm.tcgen05.commit {{.*}}, multicast_mask = {{.*}} {group = #nvvm.cta_group<cta_2>}
!x = !sm.buffer<256x64xf16, shared, <[2 cta, 128 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!y = !sm.buffer<64x32xf16, shared, <[64 offset] [2 cta, 16 offset:64] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!x, !y>
!sum = !sm.buffer<256x32xf32, tensor, <[2 cta, 128 tmem_lane] [32 tmem_col]>>
!acc = !sm.channel<!sum>
#regs = #sm.layout<[2 cta, 4 warp, 2 reg:16, 2 reg:2, 8 lane:4] [4 reg:4, 4 lane, 2 reg]>
sm.kernel @pair grid [1] inputs 2 warps 6 cluster [2, 1, 1] {
^bb0(%i: index, %a: memref<256x256xf16>, %b: memref<32x256xf16>, %out: memref<256x32xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %in = sm.channel depth 3 : !in
  %acc = sm.channel depth 1 : !acc
  sm.role "epilogue" warps 4 registers 248 {
    %full = sm.take %acc : !acc
    %sum = sm.copy tmem %full : !sum -> tensor<256x32xf32, #regs>
    sm.free %acc : !acc
    tile.store %sum, %out[%c0, %c0] : tensor<256x32xf32, #regs>, memref<256x32xf32>
    tile.yield
  }
  sm.role "load" warps 1 registers 248 {
    scf.for %k = %c0 to %c4 step %c1 {
      %at = arith.muli %k, %c64 : index
      %slot:2 = sm.acquire %in : !in
      sm.copy tma %a[%c0, %at] to %slot#0 : memref<256x256xf16> to !x
      sm.copy tma %b[%c0, %at] to %slot#1 transposed : memref<32x256xf16> to !y
      sm.publish %in : !in
    }
    tile.yield
  }
  sm.role "mma" warps 1 registers 248 {
    %into = sm.acquire %acc : !acc
    scf.for %k = %c0 to %c4 step %c1 {
      %slot:2 = sm.take %in : !in
      %fresh = arith.cmpi eq, %k, %c0 : index
      sm.mma tcgen05 %slot#0, %slot#1 into %into zero %fresh : !x, !y, !sum
      sm.free %in : !in
    }
    sm.publish %acc : !acc
    tile.yield
  }
  tile.yield
}

