// RUN: not tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_100a" -o /dev/null 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t

/// A left operand that threads compute: four warps read the raw slot, free it, write the operand to tensor memory, wait for their
/// stores and arrive, one thread of each warp. The unit frees its slots, too, by a commit of its own. The epilogue alone ends the
/// allocation: it waits for all products, which are the last to read the operand.

// CHECK-LABEL: llvm.func @computed(
/// full barriers of what warps write count four warps, those of copies and products one
//       CHECK:   %[[FOUR:.*]] = llvm.mlir.constant(4 : i32)
//       CHECK:   nvvm.mbarrier.init %{{.*}}, %[[FOUR]]
//       CHECK:   nvvm.tcgen05.dealloc
/// the role that computes
//       CHECK:   mbarrier.try_wait
//       CHECK:   nvvm.ldmatrix
//       CHECK:   @on mbarrier.arrive.shared::cta.b64
//       CHECK:   mbarrier.try_wait
//       CHECK:   nvvm.tcgen05.fence <after>
//       CHECK:   nvvm.tcgen05.st %{{.*}}, %{{.*}} {shape = #nvvm.tcgen05_ldst_shape<shape_16x128b>} : vector<16xi32>
//       CHECK:   nvvm.tcgen05.st %{{.*}}, %{{.*}} {shape = #nvvm.tcgen05_ldst_shape<shape_16x128b>} : vector<16xi32>
//       CHECK:   nvvm.tcgen05.wait <store>
//       CHECK:   nvvm.tcgen05.fence <before>
//       CHECK:   nvvm.bar.warp.sync
//       CHECK:   @on mbarrier.arrive.shared::cta.b64
//   CHECK-NOT:   nvvm.tcgen05.dealloc
/// the products: A by its address in tensor memory, B by a descriptor
//       CHECK:   nvvm.tcgen05.mma %{{.*}}, %{{.*}}, %{{.*}} {ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, !llvm.ptr<6>, i64
//       CHECK:   nvvm.tcgen05.commit
//       CHECK:   nvvm.tcgen05.commit
!x = !sm.buffer<128x64xf16, shared, <[128 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!y = !sm.buffer<64x16xf16, shared, <[64 offset] [16 offset:64] xor [offset 6:3 to offset 3]>>
!l = !sm.buffer<128x64xf16, tensor, <[128 tmem_lane] [64 tmem_col]>>
!raw = !sm.channel<!x>
!right = !sm.channel<!y>
!left = !sm.channel<!l>
!sum = !sm.buffer<128x16xf32, tensor, <[128 tmem_lane] [16 tmem_col]>>
!acc = !sm.channel<!sum>
#side = #sm.layout<[4 warp, 2 reg:32, 2 reg:2, 8 lane:4] [8 reg:4, 4 lane, 2 reg]>
#regs = #sm.layout<[4 warp, 2 reg:8, 2 reg:2, 8 lane:4] [2 reg:4, 4 lane, 2 reg]>
sm.kernel @computed grid [1] inputs 2 warps 10 {
^bb0(%i: index, %a: memref<128x256xf16>, %b: memref<16x256xf16>, %out: memref<128x16xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %raw = sm.channel depth 3 : !raw
  %right = sm.channel depth 3 : !right
  %left = sm.channel depth 2 : !left
  %acc = sm.channel depth 1 : !acc
  sm.role "epilogue" warps 4 registers 200 {
    %full = sm.take %acc : !acc
    %sum = sm.copy tmem %full : !sum -> tensor<128x16xf32, #regs>
    sm.free %acc : !acc
    tile.store %sum, %out[%c0, %c0] : tensor<128x16xf32, #regs>, memref<128x16xf32>
    tile.yield
  }
  sm.role "compute" warps 4 registers 200 {
    scf.for %k = %c0 to %c4 step %c1 {
      %slot = sm.take %raw : !raw
      %x = sm.copy ldmatrix %slot : !x -> tensor<128x64xf16, #side>
      sm.free %raw : !raw
      %y = tile.map(%x) : (tensor<128x64xf16, #side>) -> tensor<128x64xf16, #side> {
      ^bb0(%e: f16):
        %two = arith.addf %e, %e : f16
        tile.yield %two : f16
      }
      %to = sm.acquire %left : !left
      sm.copy tmem %y to %to : tensor<128x64xf16, #side> to !l
      sm.publish %left : !left
    }
    tile.yield
  }
  sm.role "load" warps 1 registers 200 {
    scf.for %k = %c0 to %c4 step %c1 {
      %at = arith.muli %k, %c64 : index
      %x = sm.acquire %raw : !raw
      sm.copy tma %a[%c0, %at] to %x : memref<128x256xf16> to !x
      sm.publish %raw : !raw
      %y = sm.acquire %right : !right
      sm.copy tma %b[%c0, %at] to %y transposed : memref<16x256xf16> to !y
      sm.publish %right : !right
    }
    tile.yield
  }
  sm.role "mma" warps 1 registers 200 {
    %into = sm.acquire %acc : !acc
    scf.for %k = %c0 to %c4 step %c1 {
      %x = sm.take %left : !left
      %y = sm.take %right : !right
      %fresh = arith.cmpi eq, %k, %c0 : index
      sm.mma tcgen05 %x, %y into %into zero %fresh : !l, !y, !sum
      sm.free %left : !left
      sm.free %right : !right
    }
    sm.publish %acc : !acc
    tile.yield
  }
  tile.yield
}

// -----

/// Stores to tensor memory prescribe the layout of registers.

// ERROR: E4051 target: while compiling kernel other_layout: 'sm.copy' at {{.*}} writes {{.*}} to [128 tmem_lane] [64 tmem_col], which is not the layout of 16x128b stores
!l = !sm.buffer<128x64xf16, tensor, <[128 tmem_lane] [64 tmem_col]>>
!left = !sm.channel<!l>
#rows = #sm.layout<[4 warp, 32 lane] [2 reg, 32 reg:2]>
sm.kernel @other_layout grid [1] inputs 1 warps 4 {
^bb0(%i: index, %a: memref<128x64xf16>, %out: memref<128x16xf32>):
  %c0 = arith.constant 0 : index
  %left = sm.channel depth 1 : !left
  sm.role "compute" warps 4 registers 200 {
    %x = tile.load %a[%c0, %c0] : memref<128x64xf16> -> tensor<128x64xf16, #rows>
    %to = sm.acquire %left : !left
    sm.copy tmem %x to %to : tensor<128x64xf16, #rows> to !l
    sm.publish %left : !left
    tile.yield
  }
  tile.yield
}

// -----

/// An accumulator of 32-bit elements is no left operand that threads write.

// ERROR: E4051 target: while compiling kernel other_type: 'sm.copy' at {{.*}} must write a whole left operand of 8-bit or 16-bit elements to tensor memory
!l = !sm.buffer<128x32xf32, tensor, <[128 tmem_lane] [32 tmem_col]>>
!left = !sm.channel<!l>
#regs = #sm.layout<[4 warp, 2 reg:16, 2 reg:2, 8 lane:4] [4 reg:4, 4 lane, 2 reg]>
sm.kernel @other_type grid [1] inputs 1 warps 4 {
^bb0(%i: index, %a: memref<128x32xf32>, %out: memref<128x16xf32>):
  %c0 = arith.constant 0 : index
  %left = sm.channel depth 1 : !left
  sm.role "compute" warps 4 registers 200 {
    %x = tile.load %a[%c0, %c0] : memref<128x32xf32> -> tensor<128x32xf32, #regs>
    %to = sm.acquire %left : !left
    sm.copy tmem %x to %to : tensor<128x32xf32, #regs> to !l
    sm.publish %left : !left
    tile.yield
  }
  tile.yield
}

// -----

/// The columns of both count: an accumulator of 256 and twelve slots of 32.

// ERROR: E4058 target: while compiling kernel too_much: needs 1024 columns of tensor memory, but sm_100a has 512: 'sm.channel' at {{.*}} has 384, 'sm.channel' at {{.*}} has 256; use smaller tiles or fewer slots
!sum = !sm.buffer<128x256xf32, tensor, <[128 tmem_lane] [256 tmem_col]>>
!acc = !sm.channel<!sum>
!l = !sm.buffer<128x64xf16, tensor, <[128 tmem_lane] [64 tmem_col]>>
!left = !sm.channel<!l>
sm.kernel @too_much grid [1] inputs 0 warps 4 {
^bb0(%i: index, %out: memref<128x16xf32>):
  %one = sm.channel depth 1 : !acc
  %two = sm.channel depth 12 : !left
  sm.role "epilogue" warps 4 registers 248 {
    tile.yield
  }
  tile.yield
}
