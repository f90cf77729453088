// RUN: not tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_100a" -o /dev/null 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t

/// A role of two warpgroups reads a part of a channel each, one row for each thread, and rescales the sums of its own part. A warp whose factors are all 1
/// does not touch the sums. Four warps free a part; the unit publishes it.

// CHECK-LABEL: llvm.func @parts(
//       CHECK:   %[[FOUR:.*]] = llvm.mlir.constant(4 : i32)
//       CHECK:   nvvm.mbarrier.init %{{.*}}, %[[FOUR]]
//       CHECK:   mbarrier.try_wait
//       CHECK:   %[[ANY:.*]] = nvvm.vote.sync any
//       CHECK:   llvm.cond_br %[[ANY]], ^[[SOME:.*]], ^
//       CHECK: ^[[SOME]]:
//       CHECK:   nvvm.tcgen05.ld %{{.*}} {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<16xi32>
//       CHECK:   llvm.fmul
//       CHECK:   nvvm.tcgen05.st %{{.*}}, %{{.*}} {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<16xi32>
//       CHECK:   nvvm.tcgen05.wait <store>
//       CHECK:   nvvm.tcgen05.ld %{{.*}} {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<16xi32>
//       CHECK:   @on mbarrier.arrive.shared::cta.b64
//       CHECK:   nvvm.tcgen05.commit
//       CHECK:   nvvm.tcgen05.commit
!sum = !sm.buffer<128x16xf32, tensor, <[128 tmem_lane] [16 tmem_col]>>
!sums = !sm.channel<!sum>
#rows = #sm.layout<[2 group, 4 warp, 32 lane] [16 reg]>
#factors = #sm.layout<[2 group, 4 warp, 32 lane]>
sm.kernel @parts grid [1] inputs 1 warps 9 {
^bb0(%i: index, %f: memref<256xf32>, %out: memref<256x16xf32>):
  %c0 = arith.constant 0 : index
  %sums = sm.channel depth 1 parts 2 : !sums
  sm.role "math" warps 8 registers 128 {
    %factors = tile.load %f[%c0] : memref<256xf32> -> tensor<256xf32, #factors>
    %t = sm.take %sums : !sums
    sm.scale %t by %factors : !sum, tensor<256xf32, #factors>
    %r = sm.copy tmem %t : !sum -> tensor<256x16xf32, #rows>
    sm.free %sums : !sums
    tile.store %r, %out[%c0, %c0] : tensor<256x16xf32, #rows>, memref<256x16xf32>
    tile.yield
  }
  sm.role "mma" warps 1 registers 128 {
    sm.acquire %sums part 0 : !sums
    sm.publish %sums part 0 : !sums
    sm.acquire %sums part 1 : !sums
    sm.publish %sums part 1 : !sums
    tile.yield
  }
  tile.yield
}

// -----

/// Factors that are not in the threads of their rows.

// ERROR: E4051 target: while compiling kernel other_rows: 'sm.scale' at {{.*}} must multiply 128 rows for each warpgroup of its role, one in each thread, got factors of
!sum = !sm.buffer<128x16xf32, tensor, <[128 tmem_lane] [16 tmem_col]>>
!sums = !sm.channel<!sum>
#factors = #sm.layout<[4 warp, 2 reg:2, 2 reg, 8 lane:4] copies [4 lane]>
sm.kernel @other_rows grid [1] inputs 1 warps 5 {
^bb0(%i: index, %f: memref<128xf32>, %out: memref<128xf32>):
  %c0 = arith.constant 0 : index
  %sums = sm.channel depth 1 : !sums
  sm.role "math" warps 4 registers 128 {
    %factors = tile.load %f[%c0] : memref<128xf32> -> tensor<128xf32, #factors>
    %t = sm.take %sums : !sums
    sm.scale %t by %factors : !sum, tensor<128xf32, #factors>
    sm.free %sums : !sums
    tile.yield
  }
  sm.role "mma" warps 1 registers 128 {
    sm.acquire %sums : !sums
    sm.publish %sums : !sums
    tile.yield
  }
  tile.yield
}

// -----

/// Parts have barriers, and columns, of their own only in tensor memory.

// ERROR: E4051 target: while compiling kernel shared_parts: 'sm.channel' at {{.*}} has parts, which the GPU target supports only in tensor memory
!x = !sm.buffer<128x64xf16, shared, <[128 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
sm.kernel @shared_parts grid [1] inputs 1 warps 8 {
^bb0(%i: index, %a: memref<128x64xf16>, %out: memref<128xf32>):
  %in = sm.channel depth 1 parts 2 : !sm.channel<!x>
  sm.role "load" warps 4 registers 40 {
    tile.yield
  }
  sm.role "math" warps 4 registers 40 {
    tile.yield
  }
  tile.yield
}
