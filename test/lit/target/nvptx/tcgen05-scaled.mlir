// RUN: not tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_100a" -o /dev/null 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t

/// NVFP4: four scales of a row in an instruction, so each has a group of its own. The thread that multiplies copies the groups from
/// shared to tensor memory, into the columns after the accumulator: 16 for 128 rows, 32 for two groups of columns.

// CHECK-LABEL: llvm.func @nvfp4(
// CHECK-COUNT-12: nvvm.tcgen05.cp %{{.*}}, %{{.*}} {multicast = #nvvm.tcgen05_cp_multicast<warpx4>, shape = #nvvm.tcgen05_cp_shape<shape_32x128b>}
//   CHECK-NOT:   nvvm.tcgen05.cp
//       CHECK:   nvvm.tcgen05.mma.block_scale {{.*}} {blockScale = #nvvm.tcgen05_mma_block_scale<block16>, ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.block_scale_kind<mxf4nvf4>}
// CHECK-COUNT-3: nvvm.tcgen05.mma.block_scale
//   CHECK-NOT:   nvvm.tcgen05.mma
//       CHECK:   nvvm.tcgen05.commit
!x = !sm.buffer<128x128xi8, shared, <[128 offset:128] [128 offset] xor [offset 7:3 to offset 4]>>
!y = !sm.buffer<128x256xi8, shared, <[128 offset] [256 offset:128] xor [offset 7:3 to offset 4]>>
!sx = !sm.buffer<16x128xi8, shared, <[16 offset:128] [128 offset]>>
!sy = !sm.buffer<32x128xi8, shared, <[32 offset:128] [128 offset]>>
!in = !sm.channel<!x, !y, !sx, !sy>
!sum = !sm.buffer<128x256xf32, tensor, <[128 tmem_lane] [256 tmem_col]>>
!acc = !sm.channel<!sum>
#regs = #sm.layout<[4 warp, 2 group, 2 reg:2, 8 lane:4] [32 reg:4, 4 lane, 2 reg]>
sm.kernel @nvfp4 grid [1] inputs 4 warps 10 {
^bb0(%i: index, %a: memref<128x256xi8>, %b: memref<256x256xi8>, %sa: memref<1x32x128xi8>, %sb: memref<2x32x128xi8>, %out: memref<128x256xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %in = sm.channel depth 2 : !in
  %acc = sm.channel depth 1 : !acc
  sm.role "epilogue" warps 8 registers 200 {
    %full = sm.take %acc : !acc
    %sum = sm.copy tmem %full : !sum -> tensor<128x256xf32, #regs>
    sm.free %acc : !acc
    tile.store %sum, %out[%c0, %c0] : tensor<128x256xf32, #regs>, memref<128x256xf32>
    tile.yield
  }
  sm.role "load" warps 1 registers 40 {
    scf.for %k = %c0 to %c2 step %c1 {
      %at = arith.muli %k, %c128 : index
      %line = arith.muli %k, %c16 : index
      %slot:4 = sm.acquire %in : !in
      sm.copy tma %a[%c0, %at] to %slot#0 : memref<128x256xi8> to !x
      sm.copy tma %b[%c0, %at] to %slot#1 transposed : memref<256x256xi8> to !y
      sm.copy tma %sa[%c0, %line, %c0] to %slot#2 : memref<1x32x128xi8> to !sx
      sm.copy tma %sb[%c0, %line, %c0] to %slot#3 dims [0, 1, 2] box [2, 16, 128] : memref<2x32x128xi8> to !sy
      sm.publish %in : !in
    }
    tile.yield
  }
  sm.role "mma" warps 1 registers 40 {
    %to = sm.acquire %acc : !acc
    scf.for %k = %c0 to %c2 step %c1 {
      %slot:4 = sm.take %in : !in
      %first = arith.cmpi eq, %k, %c0 : index
      sm.mma tcgen05 %slot#0, %slot#1 into %to zero %first scales %slot#2, %slot#3
        {block = 16 : i64, lhs_type = f4E2M1FN, rhs_type = f4E2M1FN, scale_type = f8E4M3FN} : !x, !y, !sum, !sx, !sy
      sm.free %in : !in
    }
    sm.publish %acc : !acc
    tile.yield
  }
}

// -----

/// Scales for all blocks of a line must be there.

// ERROR: 'sm.mma' {{.*}}must have operands of one line of 128 bytes along K, with scales for all of them
!x = !sm.buffer<128x128xi8, shared, <[128 offset:128] [128 offset] xor [offset 7:3 to offset 4]>>
!y = !sm.buffer<128x128xi8, shared, <[128 offset] [128 offset:128] xor [offset 7:3 to offset 4]>>
!sx = !sm.buffer<4x128xi8, shared, <[4 offset:128] [128 offset]>>
!in = !sm.channel<!x, !y, !sx, !sx>
!sum = !sm.buffer<128x128xf32, tensor, <[128 tmem_lane] [128 tmem_col]>>
!acc = !sm.channel<!sum>
#regs = #sm.layout<[4 warp, 2 group, 2 reg:2, 8 lane:4] [16 reg:4, 4 lane, 2 reg]>
sm.kernel @few_scales grid [1] inputs 3 warps 10 {
^bb0(%i: index, %a: memref<128x128xi8>, %b: memref<128x128xi8>, %sa: memref<4x128xi8>, %out: memref<128x128xf32>):
  %c0 = arith.constant 0 : index
  %in = sm.channel depth 2 : !in
  %acc = sm.channel depth 1 : !acc
  sm.role "epilogue" warps 8 registers 200 {
    %full = sm.take %acc : !acc
    %sum = sm.copy tmem %full : !sum -> tensor<128x128xf32, #regs>
    sm.free %acc : !acc
    tile.store %sum, %out[%c0, %c0] : tensor<128x128xf32, #regs>, memref<128x128xf32>
    tile.yield
  }
  sm.role "load" warps 1 registers 40 {
    %slot:4 = sm.acquire %in : !in
    sm.copy tma %a[%c0, %c0] to %slot#0 : memref<128x128xi8> to !x
    sm.copy tma %b[%c0, %c0] to %slot#1 transposed : memref<128x128xi8> to !y
    sm.copy tma %sa[%c0, %c0] to %slot#2 : memref<4x128xi8> to !sx
    sm.copy tma %sa[%c0, %c0] to %slot#3 : memref<4x128xi8> to !sx
    sm.publish %in : !in
    tile.yield
  }
  sm.role "mma" warps 1 registers 40 {
    %to = sm.acquire %acc : !acc
    %slot:4 = sm.take %in : !in
    sm.mma tcgen05 %slot#0, %slot#1 into %to scales %slot#2, %slot#3
      {block = 16 : i64, lhs_type = f4E2M1FN, rhs_type = f4E2M1FN, scale_type = f8E4M3FN} : !x, !y, !sum, !sx, !sx
    sm.free %in : !in
    sm.publish %acc : !acc
    tile.yield
  }
}
