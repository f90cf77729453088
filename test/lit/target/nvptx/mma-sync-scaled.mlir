// RUN: not tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_120a" -o /dev/null 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t

/// NVFP4: an instruction takes the four scales of a word. Two warps have 32 rows each, so a lane loads one word of lhs: lane 4 i + q has
/// row 8 q + i, and the first 16 rows are in the first pair of lanes of each four. The 16 columns are in the first two lanes; the
/// words of 96 columns that the tile does not have are loaded with them.

// CHECK-LABEL: llvm.func @nvfp4(
//       CHECK:   %[[A:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
//       CHECK:   %[[ALL:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
//       CHECK:   %[[B:.*]] = llvm.extractelement %[[ALL]][%{{.*}} : i64]
//       CHECK:   llvm.inline_asm {{.*}} "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13}, {$14}, {0, 0}, {$15}, {0, 0};", {{.*}}, %[[A]], %[[B]] :
//       CHECK:   llvm.inline_asm {{.*}} {$14}, {0, 0}, {$15}, {0, 1};"
//       CHECK:   llvm.inline_asm {{.*}} {$14}, {0, 1}, {$15}, {0, 0};"
//       CHECK:   llvm.inline_asm {{.*}} {$14}, {0, 1}, {$15}, {0, 1};"
//   CHECK-NOT:   mma.sync
!x = !sm.buffer<64x128xi8, shared, <[64 offset:128] [128 offset] xor [offset 7:3 to offset 4]>>
!y = !sm.buffer<128x16xi8, shared, <[128 offset] [16 offset:128] xor [offset 7:3 to offset 4]>>
!s = !sm.buffer<16x128xi8, shared, <[16 offset:128] [128 offset]>>
!in = !sm.channel<!x, !y, !s, !s>
#a = #sm.layout<[2 warp, 2 reg:16, 2 reg:4, 8 lane:4] [2 reg:8, 4 lane, 4 reg]>
#b = #sm.layout<[2 reg:4, 4 lane, 4 reg] [2 reg:8, 8 lane:4] copies [2 warp]>
#sum = #sm.layout<[2 warp, 2 reg:8, 2 reg:2, 8 lane:4] [2 reg:4, 4 lane, 2 reg]>
#sa = #sm.layout<[4 lane] [8 lane:4, 2 reg:4, 2 warp, 4 reg]>
#sb = #sm.layout<[4 lane] [8 lane:4, 4 reg:4, 4 reg] copies [2 warp]>
sm.kernel @nvfp4 grid [1] inputs 4 warps 2 {
^bb0(%i: index, %x: memref<64x128xi8>, %y: memref<16x128xi8>, %p: memref<16x128xi8>, %q: memref<16x128xi8>, %out: memref<64x16xf32>):
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %in = sm.channel depth 1 : !in
  %to:4 = sm.acquire %in : !in
  sm.copy cp_async %x[%c0, %c0] to %to#0 : memref<64x128xi8> to !x
  sm.copy cp_async %y[%c0, %c0] to %to#1 transposed : memref<16x128xi8> to !y
  sm.copy cp_async %p[%c0, %c0] to %to#2 : memref<16x128xi8> to !s
  sm.copy cp_async %q[%c0, %c0] to %to#3 : memref<16x128xi8> to !s
  sm.publish %in : !in
  %slot:4 = sm.take %in : !in
  %a = sm.copy ldmatrix %slot#0[%c0, %c0] : !x -> tensor<64x32xi8, #a>
  %b = sm.copy ldmatrix %slot#1[%c0, %c0] : !y -> tensor<32x16xi8, #b>
  %sa = sm.copy ld %slot#2[%c4, %c0] : !s -> tensor<4x128xi8, #sa>
  %sb = sm.copy ld %slot#3[%c4, %c0] : !s -> tensor<4x128xi8, #sb>
  sm.free %in : !in
  %zero = tile.map() : () -> tensor<64x16xf32, #sum> {
    %f = arith.constant 0.0 : f32
    tile.yield %f : f32
  }
  %d = sm.mma mma_sync %a, %b, %zero scales %sa, %sb {block = 16 : i64, first_block = 0 : i64, lhs_type = f4E2M1FN, rhs_type = f4E2M1FN, scale_type = f8E4M3FN}
    : tensor<64x32xi8, #a>, tensor<32x16xi8, #b> -> tensor<64x16xf32, #sum>, tensor<4x128xi8, #sa>, tensor<4x128xi8, #sb>
  tile.store %d, %out[%c0, %c0] : tensor<64x16xf32, #sum>, memref<64x16xf32>
}

// -----

/// Scales come from a buffer, four lines of it at a time.

// ERROR: 'sm.mma' {{.*}}must have scales of 4 lines of 128 bytes that were loaded from a buffer
#a = #sm.layout<[2 reg:4, 8 lane:4] [2 reg:8, 4 lane, 4 reg]>
#b = #sm.layout<[2 reg:4, 4 lane, 4 reg] [2 reg:8, 8 lane:4]>
#sum = #sm.layout<[2 reg:2, 8 lane:4] [2 reg:4, 4 lane, 2 reg]>
#s = #sm.layout<[4 lane] [8 lane:4, 16 reg]>
sm.kernel @computed grid [1] inputs 3 warps 1 {
^bb0(%i: index, %x: memref<16x32xi8>, %y: memref<32x16xi8>, %p: memref<4x128xi8>, %out: memref<16x16xf32>):
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : memref<16x32xi8> -> tensor<16x32xi8, #a>
  %b = tile.load %y[%c0, %c0] : memref<32x16xi8> -> tensor<32x16xi8, #b>
  %s = tile.load %p[%c0, %c0] : memref<4x128xi8> -> tensor<4x128xi8, #s>
  %d = sm.mma mma_sync %a, %b scales %s, %s {block = 16 : i64, lhs_type = f4E2M1FN, rhs_type = f4E2M1FN, scale_type = f8E4M3FN}
    : tensor<16x32xi8, #a>, tensor<32x16xi8, #b> -> tensor<16x16xf32, #sum>, tensor<4x128xi8, #s>, tensor<4x128xi8, #s>
  tile.store %d, %out[%c0, %c0] : tensor<16x16xf32, #sum>, memref<16x16xf32>
}
