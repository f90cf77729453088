// RUN: not tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_90a" -o /dev/null 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t

/// Two warpgroups issue their products in turns. The first one gets its turn from the last one's arrival at the start. The second
/// product's left operand is packed where it is computed, behind a wait for products that may still read such registers: none here.

// CHECK-LABEL: llvm.func @in_turns(
// CHECK: nvvm.setmaxregister increase 240
// CHECK: %[[IS_SECOND:.*]] = llvm.icmp "eq"
// CHECK: %[[ON:.*]] = llvm.zext %[[IS_SECOND]]
// CHECK: @on barrier.cta.arrive.aligned 8, 256;{{.*}} %[[ON]] :
// CHECK: "barrier.cta.sync.aligned $0, 256;"
// CHECK-COUNT-2: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16
// CHECK: llvm.icmp "eq" %[[NEXT:.*]], %{{.*}}
// CHECK: llvm.select %{{.*}}, %{{.*}}, %[[NEXT]]
// CHECK: "barrier.cta.arrive.aligned $0, 256;"
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK: llvm.inline_asm {{.*}} "", "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7
// CHECK-COUNT-4: llvm.bitcast {{.*}} : vector<2xf16> to i32
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16
// CHECK-NOT: wgmma.mma_async
// CHECK: "wgmma.wait_group.sync.aligned 0;"
// CHECK: mbarrier.arrive.shared::cta.b64
// CHECK: llvm.icmp "eq" %{{.*}}, %{{.*}} : i32
// CHECK: @on barrier.cta.sync.aligned 8, 256;
!x = !sm.buffer<128x32xf16, shared, <[16 offset:512, 8 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!y = !sm.buffer<32x16xf16, shared, <[64 offset] [2 offset:512, 8 offset:64] xor [offset 6:3 to offset 3]>>
!z = !sm.buffer<16x16xf16, shared, <[2 offset:512, 8 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!x, !y, !z>
#acc = #sm.layout<[2 group, 4 warp, 2 reg:2, 8 lane:4] [2 reg:4, 4 lane, 2 reg]>
sm.kernel @in_turns grid [1] inputs 3 warps 12 {
^bb0(%i: index, %a: memref<128x32xf16>, %b: memref<16x32xf16>, %c: memref<16x16xf16>, %out: memref<128x16xf32>):
  %c0 = arith.constant 0 : index
  %in = sm.channel depth 1 : !in
  %turn = sm.channel depth 1 filled 1 : !sm.channel<>
  sm.role "load" warps 4 registers 24 {
    %slot:3 = sm.acquire %in : !in
    sm.copy tma %a[%c0, %c0] to %slot#0 : memref<128x32xf16> to !x
    sm.copy tma %b[%c0, %c0] to %slot#1 transposed : memref<16x32xf16> to !y
    sm.copy tma %c[%c0, %c0] to %slot#2 : memref<16x16xf16> to !z
    sm.publish %in : !in
  }
  sm.role "math" warps 8 registers 240 {
    %x:3 = sm.take %in : !in
    sm.take %turn : !sm.channel<>
    %s = sm.mma wgmma %x#0, %x#1 : !x, !y -> tensor<128x16xf32, #acc>
    sm.free %turn : !sm.channel<>
    %p = tile.map(%s) : (tensor<128x16xf32, #acc>) -> tensor<128x16xf16, #acc> {
    ^bb0(%e: f32):
      %h = arith.truncf %e : f32 to f16
      tile.yield %h : f16
    }
    %o = sm.mma wgmma %p, %x#2 : tensor<128x16xf16, #acc>, !z -> tensor<128x16xf32, #acc>
    sm.free %in : !in
    tile.store %o, %out[%c0, %c0] : tensor<128x16xf32, #acc>, memref<128x16xf32>
  }
}

// -----

/// A number that the math role computes reaches the role of one thread that copies through a slot of one element. Only the first
/// thread writes it, and waits for the slot.

// CHECK-LABEL: llvm.func @number(
// CHECK: mbarrier.try_wait.parity
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> i32
// CHECK: mbarrier.arrive
// CHECK: @other bra after;{{.*}}mbarrier.try_wait.parity
// CHECK: @on st.shared.b32 [$0], $1;
// CHECK: mbarrier.arrive
#one = #sm.layout<[] copies [4 warp, 32 lane]>
#all = #sm.layout<[4 warp, 32 lane]>
!number = !sm.buffer<1xf32, shared, <[]>>
!x = !sm.buffer<64x64xf16, shared, <[8 offset:512, 8 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!numbers = !sm.channel<!number>
!in = !sm.channel<!x>
sm.kernel @number grid [1] inputs 2 warps 8 {
^bb0(%i: index, %a: memref<64x64xf16>, %b: memref<1xf32>, %out: memref<128xf32>):
  %c0 = arith.constant 0 : index
  %numbers = sm.channel depth 1 : !numbers
  sm.role "load" warps 4 registers 24 {
    %slot = sm.take %numbers : !numbers
    %n = sm.copy ld %slot : !number -> tensor<1xf32, #one>
    sm.free %numbers : !numbers
  }
  sm.role "math" warps 4 registers 240 {
    %n = tile.load %b[%c0] : memref<1xf32> -> tensor<1xf32, #one>
    %slot = sm.acquire %numbers : !numbers
    sm.copy st %n to %slot : tensor<1xf32, #one> to !number
    sm.publish %numbers : !numbers
    %v = tile.view %n affine_map<(d0) -> (0)> : tensor<1xf32, #one> -> tensor<128xf32, #all>
    tile.store %v, %out[%c0] : tensor<128xf32, #all>, memref<128xf32>
  }
}

// -----

// ERROR: E4051 target: while compiling kernel filled: 'sm.channel' at {{.*}} has no buffers, so it must have one full slot and be taken by a role of several warpgroups
sm.kernel @filled grid [1] inputs 1 warps 8 {
^bb0(%i: index, %a: memref<4xf32>, %b: memref<4xf32>):
  %turn = sm.channel depth 1 : !sm.channel<>
  sm.role "math" warps 8 registers 240 {
    sm.take %turn : !sm.channel<>
    sm.free %turn : !sm.channel<>
  }
}

// -----

// ERROR: E4051 target: while compiling kernel two_roles: 'sm.channel' at {{.*}} has no buffers, so only one role may take and free its slot
sm.kernel @two_roles grid [1] inputs 1 warps 16 {
^bb0(%i: index, %a: memref<4xf32>, %b: memref<4xf32>):
  %turn = sm.channel depth 1 filled 1 : !sm.channel<>
  sm.role "first" warps 8 registers 120 {
    sm.take %turn : !sm.channel<>
  }
  sm.role "second" warps 8 registers 120 {
    sm.free %turn : !sm.channel<>
  }
}
