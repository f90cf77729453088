// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

// expected-error@below {{expected `shared` or `tensor`, got global}}
func.func private @space(!sm.buffer<4x4xf16, global, <[4 offset:4] [4 offset]>>)

// -----

// expected-error@below {{a buffer must have a memory layout, got a layout with axis lane}}
func.func private @registers(!sm.buffer<4x4xf16, shared, <[4 lane:4] [4 lane]>>)

// -----

// expected-error@below {{a layout must cover all 8 elements of dimension 0, but this one covers 4}}
func.func private @cover(!sm.buffer<8x4xf16, shared, <[4 offset:4] [4 offset]>>)

// -----

func.func @no_slot() {
  // expected-error@below {{expects at least 1 slot, got 0}}
  %c = sm.channel depth 0 : !sm.channel<>
  return
}

// -----

func.func @too_full() {
  // expected-error@below {{expects 0 to 2 full slots, because its depth is 2, got 3}}
  %c = sm.channel depth 2 filled 3 : !sm.channel<>
  return
}

// -----

func.func @several_slots() {
  // expected-error@below {{expects a single part, or several with one free slot each, got 2 parts with 3 slots, of which 0 are full}}
  %c = sm.channel depth 3 parts 2 : !sm.channel<>
  return
}

// -----

sm.kernel @part grid [1] inputs 0 warps 4 {
^bb0(%i: index):
  // expected-error@below {{has parts 0 to 1, but an op names 2}}
  %c = sm.channel depth 1 parts 2 : !sm.channel<>
  sm.role "mma" warps 4 registers 40 {
    sm.take %c part 2 : !sm.channel<>
  }
}

// -----

!sum = !sm.buffer<128x16xf32, tensor, <[128 tmem_lane] [16 tmem_col]>>
func.func @factors(%sum: !sum, %f: tensor<64xf32, #sm.layout<[2 warp, 32 lane] copies [2 warp:2]>>) {
  // expected-error@below {{expects a factor for each of 128 rows, got 64}}
  sm.scale %sum by %f : !sum, tensor<64xf32, #sm.layout<[2 warp, 32 lane] copies [2 warp:2]>>
  return
}

// -----

sm.kernel @registers grid [1] inputs 0 warps 4 {
^bb0(%i: index):
  // expected-error@below {{expects the number of registers per thread to be a multiple of 8 from 24 to 256, got 44}}
  sm.role "load" warps 4 registers 44 {
  }
}

// -----

// expected-error@below {{has 8 warps, but its roles have 4}}
sm.kernel @warps grid [1] inputs 0 warps 8 {
^bb0(%i: index):
  sm.role "load" warps 4 registers 40 {
  }
}

// -----

sm.kernel @beside grid [1] inputs 1 warps 4 {
^bb0(%i: index, %x: memref<4xf32>):
  // expected-error@below {{is outside the kernel's roles; move it into one of them}}
  %t = tile.load %x[%i] : memref<4xf32> -> tensor<4xf32, #sm.layout<[4 lane] copies [8 lane:4, 4 warp]>>
  sm.role "load" warps 4 registers 40 {
  }
}

// -----

func.func @inside() {
  // expected-error@below {{expects parent op 'sm.kernel', got func.func}}
  sm.role "load" warps 4 registers 40 {
  }
  return
}

// -----

// expected-error@below {{expects attribute `persistent` to be `static` or `stealing`, got sometimes}}
sm.kernel @persistence grid [1] inputs 0 warps 4 persistent "sometimes" {
^bb0(%i: index):
}

// -----

// expected-error@below {{expects a raster of at least 1 and a grid of rank at least 2, got raster 4 and rank 1}}
sm.kernel @order grid [8] inputs 0 warps 4 raster 4 {
^bb0(%i: index):
}

// -----

!x = !sm.buffer<4x4xf16, shared, <[4 offset:4] [4 offset]>>
func.func @elements(%m: memref<8x8xf32>, %i: index, %x: !x) {
  // expected-error@below {{expects source and target to have the same element type, got 'f32' and 'f16'}}
  sm.copy tma %m[%i, %i] to %x : memref<8x8xf32> to !x
  return
}

// -----

!x = !sm.buffer<4x4xf16, shared, <[4 offset:4] [4 offset]>>
func.func @offsets(%m: memref<8x8xf16>, %i: index, %x: !x) {
  // expected-error@below {{expects 2 source offsets, got 1}}
  sm.copy tma %m[%i] to %x : memref<8x8xf16> to !x
  return
}

// -----

!x = !sm.buffer<4x4xf16, shared, <[4 offset:4] [4 offset]>>
func.func @dimensions(%m: memref<8x2x8xf16>, %i: index, %x: !x) {
  // expected-error@below {{expects 2 increasing dimensions of a memref of rank 3, got 0x3}}
  sm.copy tma %m[%i, %i, %i] to %x dims [0, 3] : memref<8x2x8xf16> to !x
  return
}

// -----

!x = !sm.buffer<4x4xf16, shared, <[4 offset:4] [4 offset]>>
func.func @nowhere(%x: !x) {
  // expected-error@below {{expects either a target or a result}}
  sm.copy ld %x : !x
  return
}

// -----

func.func @memory(%m: memref<8x8xf16>, %i: index) {
  // expected-error@below {{expects a buffer or a tile as source or target}}
  sm.copy tma %m[%i, %i] to %m[%i, %i] : memref<8x8xf16> to memref<8x8xf16>
  return
}

// -----

!x = !sm.buffer<64x16xf16, shared, <[64 offset:16] [16 offset]>>
!y = !sm.buffer<32x64xf16, shared, <[32 offset:64] [64 offset]>>
func.func @contraction(%x: !x, %y: !y) {
  // expected-error@below {{contracts lhs dimension 1 with rhs dimension 0, which must be equal, got 16 and 32}}
  %s = sm.mma wgmma %x, %y : !x, !y -> tensor<64x64xf32>
  return
}

// -----

!x = !sm.buffer<64x16xf16, shared, <[64 offset:16] [16 offset]>>
!y = !sm.buffer<16x64xf16, shared, <[16 offset:64] [64 offset]>>
func.func @accumulator(%x: !x, %y: !y) {
  // expected-error@below {{expects an accumulator of 64x64, got 64x32}}
  %s = sm.mma wgmma %x, %y : !x, !y -> tensor<64x32xf32>
  return
}

// -----

!x = !sm.buffer<64x16xf16, shared, <[64 offset:16] [16 offset]>>
!y = !sm.buffer<16x64xf16, shared, <[16 offset:64] [64 offset]>>
func.func @tensor_memory(%x: !x, %y: !y) {
  // expected-error@below {{must accumulate in tensor memory with tcgen05; specify a buffer with `into`}}
  %s = sm.mma tcgen05 %x, %y : !x, !y -> tensor<64x64xf32>
  return
}

// -----

!x = !sm.buffer<64x16xf16, shared, <[64 offset:16] [16 offset]>>
func.func @register_rhs(%x: !x, %y: tensor<16x64xf16>) {
  // expected-error@below {{expects rhs to be a buffer with wgmma}}
  %s = sm.mma wgmma %x, %y : !x, tensor<16x64xf16> -> tensor<64x64xf32>
  return
}

// -----

!x = !sm.buffer<4x4xf16, shared, <[4 offset:4] [4 offset]>>
func.func @rank_of_memref(%m: memref<8xf16>, %i: index, %x: !x) {
  // expected-error@below {{expects the memref to have at least the rank of the tile, 2, got 1}}
  sm.copy tma %m[%i] to %x : memref<8xf16> to !x
  return
}

// -----

!x = !sm.buffer<4x4xf16, shared, <[4 offset:4] [4 offset]>>
func.func @rank_of_tile(%x: !x) {
  // expected-error@below {{expects source and target to have the same rank, got 4x4 and 16}}
  %r = sm.copy ld %x : !x -> tensor<16xf16, #sm.layout<[16 lane]>>
  return
}

// -----

!x = !sm.buffer<4x4xf16, shared, <[4 offset:4] [4 offset]>>
func.func @rounds_half(%m: memref<8x8xf16>, %i: index, %x: !x) {
  // expected-error@below {{can round to tf32 only f32 elements that the copy engine loads from a memref, got a copy by tma of 'memref<8x8xf16>'}}
  sm.copy tma %m[%i, %i] to %x tf32 : memref<8x8xf16> to !x
  return
}

// -----

!x = !sm.buffer<4x4xf32, shared, <[4 offset:4] [4 offset]>>
func.func @rounds_in_threads(%m: memref<8x8xf32>, %i: index, %x: !x) {
  // expected-error@below {{can round to tf32 only f32 elements that the copy engine loads from a memref, got a copy by cp_async of 'memref<8x8xf32>'}}
  sm.copy cp_async %m[%i, %i] to %x tf32 : memref<8x8xf32> to !x
  return
}

// -----

!x = !sm.buffer<4x4xf32, shared, <[4 offset:4] [4 offset]>>
func.func @rounds_a_store(%m: memref<8x8xf32>, %i: index, %x: !x) {
  // expected-error@below {{can round to tf32 only f32 elements that the copy engine loads from a memref, got a copy by tma of '!sm.buffer<}}
  sm.copy tma %x to %m[%i, %i] tf32 : !x to memref<8x8xf32>
  return
}

// -----

!x = !sm.buffer<4x4xf16, shared, <[4 offset:4] [4 offset]>>
func.func @box_of_one_dimension_twice(%m: memref<8x2x8xf16>, %i: index, %x: !x) {
  // expected-error@below {{expects a box of distinct dimensions of a memref of rank 3, got dimensions 0x0x2 and sizes 2x2x4}}
  sm.copy tma %m[%i, %i, %i] to %x dims [0, 0, 2] box [2, 2, 4] : memref<8x2x8xf16> to !x
  return
}

// -----

!x = !sm.buffer<4x4xf16, shared, <[4 offset:4] [4 offset]>>
func.func @box_of_other_rows(%m: memref<8x2x8xf16>, %i: index, %x: !x) {
  // expected-error@below {{expects a box of the 4 rows and 4 columns of its buffer's layout, got 4x2x4}}
  sm.copy tma %m[%i, %i, %i] to %x dims [0, 1, 2] box [4, 2, 4] : memref<8x2x8xf16> to !x
  return
}

// -----

!x = !sm.buffer<4x4xf16, shared, <[4 offset:4] [4 offset]>>
func.func @stride_along_columns(%m: memref<8x2x8xf16>, %i: index, %x: !x) {
  // expected-error@below {{expects a positive stride for each dimension of the box, and 1 along the columns, got 1x1x2}}
  sm.copy tma %m[%i, %i, %i] to %x dims [0, 1, 2] box [2, 2, 4] strides [1, 1, 2] : memref<8x2x8xf16> to !x
  return
}

// -----

!x = !sm.buffer<4x4xf16, shared, <[4 offset:4] [4 offset]>>
func.func @strides_without_box(%m: memref<8x8xf16>, %i: index, %x: !x) {
  // expected-error@below {{expects a box for its strides}}
  sm.copy tma %m[%i, %i] to %x strides [2, 1] : memref<8x8xf16> to !x
  return
}
