// RUN: not tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_90a" -o /dev/null 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t

/// A product is one inline assembly with a fence, an instruction for each 16 columns of the left side, and a commit. The
/// product in the loop stays in flight while the previous slot is freed, and the store waits for the last one.

// CHECK-LABEL: llvm.func @in_flight(
//       CHECK:   nvvm.setmaxregister decrease 232
//       CHECK:   mbarrier.try_wait
/// descriptors: the address in units of 16 bytes
//       CHECK:   %[[START:.*]] = llvm.lshr
//       CHECK:   %[[MASKED:.*]] = llvm.and %[[START]],
//       CHECK:   %[[A:.*]] = llvm.or %[[MASKED]],
//       CHECK:   %[[B:.*]] = llvm.or
/// the first product: its first instruction ignores the accumulator
//       CHECK:   %[[FIRST:.*]] = llvm.inline_asm {{.*}}wgmma.fence.sync.aligned;
//  CHECK-SAME:     add.u32 al, $4, 0;
//  CHECK-SAME:     wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, a, c, off, 1, 1, 0, 0;
//  CHECK-SAME:     add.u32 al, $4, 2;
//  CHECK-SAME:     wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, a, c, on, 1, 1, 0, 0;
//  CHECK-SAME:     add.u32 al, $4, 4;
//  CHECK-SAME:     add.u32 al, $4, 6;
//  CHECK-SAME:     wgmma.commit_group.sync.aligned;
//  CHECK-SAME:     "=&f,=&f,=&f,=&f,r,r,~{memory}" %[[A]], %[[B]] :
//   CHECK-NOT:   wait.group
//       CHECK:   llvm.cond_br %{{.*}}, ^[[LOOP:.*]](%{{.*}} : i32, f32, f32, f32, f32), ^[[AFTER:.*]](%{{.*}} : f32, f32, f32, f32)
/// after the loop: free, then the store, which takes the accumulator from the wait
//       CHECK: ^[[AFTER]](%[[S0:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32, %[[S3:.*]]: f32):
//       CHECK:   nvvm.wgmma.wait.group.sync.aligned 0
//       CHECK:   @on mbarrier.arrive.shared::cta.b64
//       CHECK:   %[[SUM:.*]] = llvm.inline_asm {{.*}} "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,0,1,2,3,~{memory}" %[[S0]], %{{.*}}, %[[S3]] :
//       CHECK:   %[[SUM0:.*]] = llvm.extractvalue %[[SUM]][0]
//       CHECK:   llvm.insertelement %[[SUM0]]
/// in the loop: one product is in flight when the slot of the previous one is freed
//       CHECK: ^[[LOOP]](%{{.*}}: i32, %[[ACC0:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32, %[[ACC3:.*]]: f32):
//       CHECK:   mbarrier.try_wait
//       CHECK:   llvm.inline_asm {{.*}}wgmma.fence.sync.aligned;
//   CHECK-NOT:     a, c, off,
//  CHECK-SAME:     "=f,=f,=f,=f,r,r,0,1,2,3,~{memory}" %{{.*}}, %{{.*}}, %[[ACC0]], %{{.*}}, %[[ACC3]] :
//       CHECK:   nvvm.wgmma.wait.group.sync.aligned 1
//       CHECK:   @on mbarrier.arrive.shared::cta.b64
//       CHECK:   llvm.cond_br %{{.*}}, ^[[LOOP]](
!x = !sm.buffer<64x64xf16, shared, <[64 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!y = !sm.buffer<64x8xf16, shared, <[64 offset] [8 offset:64] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!x, !y>
#acc = #sm.layout<[4 warp, 2 reg:2, 8 lane:4] [4 lane, 2 reg]>
sm.kernel @in_flight grid [1] inputs 2 warps 8 {
^bb0(%i: index, %a: memref<64x256xf16>, %b: memref<8x256xf16>, %out: memref<64x8xf32>):
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %in = sm.channel depth 2 : !in
  sm.role "load" warps 4 registers 40 {
    scf.for %k = %c0 to %c256 step %c64 {
      %slot:2 = sm.acquire %in : !in
      sm.copy tma %a[%c0, %k] to %slot#0 : memref<64x256xf16> to !x
      sm.copy tma %b[%c0, %k] to %slot#1 transposed : memref<8x256xf16> to !y
      sm.publish %in : !in
    }
  }
  sm.role "math" warps 4 registers 232 {
    %x:2 = sm.take %in : !in
    %first = sm.mma wgmma %x#0, %x#1 : !x, !y -> tensor<64x8xf32, #acc>
    %sum = scf.for %k = %c64 to %c256 step %c64 iter_args(%s = %first) -> tensor<64x8xf32, #acc> {
      %y:2 = sm.take %in : !in
      %next = sm.mma wgmma %y#0, %y#1, %s : !x, !y -> tensor<64x8xf32, #acc>
      sm.free %in : !in
      scf.yield %next : tensor<64x8xf32, #acc>
    }
    sm.free %in : !in
    tile.store %sum, %out[%c0, %c0] : tensor<64x8xf32, #acc>, memref<64x8xf32>
  }
}

/// A depth of 24 elements in lines of 64: the copy fills the rest of a line with zeros, so two instructions multiply all of it.

// CHECK-LABEL: llvm.func @half_lines(
//       CHECK:   llvm.inline_asm {{.*}}wgmma.fence.sync.aligned;
//  CHECK-SAME:     add.u32 al, $4, 0;
//  CHECK-SAME:     add.u32 al, $4, 2;
//   CHECK-NOT:     add.u32 al, $4, 4;
//  CHECK-SAME:     wgmma.commit_group.sync.aligned;
!short_x = !sm.buffer<64x24xf16, shared, <[64 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!short_y = !sm.buffer<24x8xf16, shared, <[64 offset] [8 offset:64] xor [offset 6:3 to offset 3]>>
!short = !sm.channel<!short_x, !short_y>
#short_acc = #sm.layout<[4 warp, 2 reg:2, 8 lane:4] [4 lane, 2 reg]>
sm.kernel @half_lines grid [1] inputs 2 warps 8 {
^bb0(%i: index, %a: memref<64x24xf16>, %b: memref<8x24xf16>, %out: memref<64x8xf32>):
  %c0 = arith.constant 0 : index
  %in = sm.channel depth 1 : !short
  sm.role "load" warps 4 registers 40 {
    %slot:2 = sm.acquire %in : !short
    sm.copy tma %a[%c0, %c0] to %slot#0 : memref<64x24xf16> to !short_x
    sm.copy tma %b[%c0, %c0] to %slot#1 transposed : memref<8x24xf16> to !short_y
    sm.publish %in : !short
  }
  sm.role "math" warps 4 registers 232 {
    %full:2 = sm.take %in : !short
    %sum = sm.mma wgmma %full#0, %full#1 : !short_x, !short_y -> tensor<64x8xf32, #short_acc>
    sm.free %in : !short
    tile.store %sum, %out[%c0, %c0] : tensor<64x8xf32, #short_acc>, memref<64x8xf32>
  }
}

// -----

/// f32 is multiplied as tf32: eight columns of the left side, 32 bytes, for each instruction, and no order, because both operands
/// must be contiguous along K.

// CHECK-LABEL: llvm.func @tf32(
//       CHECK:   llvm.inline_asm {{.*}}wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {$0, $1, $2, $3}, a, c, off, 1, 1;
//  CHECK-SAME:     add.u32 al, $4, 2;
//  CHECK-SAME:     wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {$0, $1, $2, $3}, a, c, on, 1, 1;
//  CHECK-SAME:     add.u32 al, $4, 6;
//  CHECK-SAME:     wgmma.commit_group.sync.aligned;
!x = !sm.buffer<64x32xf32, shared, <[64 offset:32] [32 offset] xor [offset 5:3 to offset 2]>>
!y = !sm.buffer<32x8xf32, shared, <[32 offset] [8 offset:32] xor [offset 5:3 to offset 2]>>
!in = !sm.channel<!x, !y>
#acc = #sm.layout<[4 warp, 2 reg:2, 8 lane:4] [4 lane, 2 reg]>
sm.kernel @tf32 grid [1] inputs 2 warps 8 {
^bb0(%i: index, %a: memref<64x32xf32>, %b: memref<8x32xf32>, %out: memref<64x8xf32>):
  %c0 = arith.constant 0 : index
  %in = sm.channel depth 1 : !in
  sm.role "load" warps 4 registers 40 {
    %slot:2 = sm.acquire %in : !in
    sm.copy tma %a[%c0, %c0] to %slot#0 tf32 : memref<64x32xf32> to !x
    sm.copy tma %b[%c0, %c0] to %slot#1 transposed tf32 : memref<8x32xf32> to !y
    sm.publish %in : !in
  }
  sm.role "math" warps 4 registers 232 {
    %x:2 = sm.take %in : !in
    %sum = sm.mma wgmma %x#0, %x#1 : !x, !y -> tensor<64x8xf32, #acc>
    sm.free %in : !in
    tile.store %sum, %out[%c0, %c0] : tensor<64x8xf32, #acc>, memref<64x8xf32>
  }
}

// -----

/// The instruction would truncate words that no copy has rounded.
// ERROR: E4051 target: while compiling kernel unrounded: 'sm.mma' at {{.*}} multiplies f32 that no copy has rounded to tf32
!x = !sm.buffer<64x32xf32, shared, <[64 offset:32] [32 offset] xor [offset 5:3 to offset 2]>>
!y = !sm.buffer<32x8xf32, shared, <[32 offset] [8 offset:32] xor [offset 5:3 to offset 2]>>
!in = !sm.channel<!x, !y>
#acc = #sm.layout<[4 warp, 2 reg:2, 8 lane:4] [4 lane, 2 reg]>
sm.kernel @unrounded grid [1] inputs 2 warps 8 {
^bb0(%i: index, %a: memref<64x32xf32>, %b: memref<8x32xf32>, %out: memref<64x8xf32>):
  %c0 = arith.constant 0 : index
  %in = sm.channel depth 1 : !in
  sm.role "load" warps 4 registers 40 {
    %slot:2 = sm.acquire %in : !in
    sm.copy tma %a[%c0, %c0] to %slot#0 : memref<64x32xf32> to !x
    sm.copy tma %b[%c0, %c0] to %slot#1 transposed : memref<8x32xf32> to !y
    sm.publish %in : !in
  }
  sm.role "math" warps 4 registers 232 {
    %x:2 = sm.take %in : !in
    %sum = sm.mma wgmma %x#0, %x#1 : !x, !y -> tensor<64x8xf32, #acc>
    sm.free %in : !in
  }
}

// -----

// ERROR: E4051 target: while compiling kernel type: 'sm.mma' at {{.*}} multiplies types that wgmma does not support
!x = !sm.buffer<64x64xf16, shared, <[64 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!y = !sm.buffer<64x8xf16, shared, <[64 offset] [8 offset:64] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!x, !y>
#acc = #sm.layout<[4 warp, 2 reg:2, 8 lane:4] [4 lane, 2 reg]>
sm.kernel @type grid [1] inputs 2 warps 8 {
^bb0(%i: index, %a: memref<64x64xf16>, %b: memref<8x64xf16>, %out: memref<64x8xf16>):
  %c0 = arith.constant 0 : index
  %in = sm.channel depth 1 : !in
  sm.role "load" warps 4 registers 40 {
    %slot:2 = sm.acquire %in : !in
    sm.copy tma %a[%c0, %c0] to %slot#0 : memref<64x64xf16> to !x
    sm.copy tma %b[%c0, %c0] to %slot#1 transposed : memref<8x64xf16> to !y
    sm.publish %in : !in
  }
  sm.role "math" warps 4 registers 232 {
    %x:2 = sm.take %in : !in
    %sum = sm.mma wgmma %x#0, %x#1 : !x, !y -> tensor<64x8xf16, #acc>
    sm.free %in : !in
  }
}
