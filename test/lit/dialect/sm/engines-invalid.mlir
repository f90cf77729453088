// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

// expected-error@below {{needs `shared` or `tensor`, got global}}
func.func private @space(!sm.buffer<4x4xf16, global, <[4 offset:4] [4 offset]>>)

// -----

// expected-error@below {{needs a layout of memory, got one with axis lane}}
func.func private @registers(!sm.buffer<4x4xf16, shared, <[4 lane:4] [4 lane]>>)

// -----

// expected-error@below {{needs a layout that covers the 8 elements of dimension 0, got one of 4}}
func.func private @cover(!sm.buffer<8x4xf16, shared, <[4 offset:4] [4 offset]>>)

// -----

func.func @no_slot() {
  // expected-error@below {{needs at least 1 slot, got 0}}
  %c = sm.channel depth 0 : !sm.channel<>
  return
}

// -----

func.func @too_full() {
  // expected-error@below {{needs a number of full slots from 0 to its depth 2, got 3}}
  %c = sm.channel depth 2 filled 3 : !sm.channel<>
  return
}

// -----

sm.kernel @registers grid [1] inputs 0 warps 4 {
^bb0(%i: index):
  // expected-error@below {{needs a multiple of 8 from 24 to 256 as registers of a thread, got 44}}
  sm.role "load" warps 4 registers 44 {
  }
}

// -----

// expected-error@below {{has 8 warps, and its roles have 4, which must be equal}}
sm.kernel @warps grid [1] inputs 0 warps 8 {
^bb0(%i: index):
  sm.role "load" warps 4 registers 40 {
  }
}

// -----

sm.kernel @beside grid [1] inputs 1 warps 4 {
^bb0(%i: index, %x: memref<4xf32>):
  // expected-error@below {{acts beside roles; put it into one of them}}
  %t = tile.load %x[%i] : memref<4xf32> -> tensor<4xf32, #sm.layout<[4 lane] copies [8 lane:4, 4 warp]>>
  sm.role "load" warps 4 registers 40 {
  }
}

// -----

func.func @inside() {
  // expected-error@below {{needs an sm.kernel around it, got func.func}}
  sm.role "load" warps 4 registers 40 {
  }
  return
}

// -----

// expected-error@below {{needs `static` as its kind of persistence, got sometimes}}
sm.kernel @persistence grid [1] inputs 0 warps 4 persistent "sometimes" {
^bb0(%i: index):
}

// -----

!x = !sm.buffer<4x4xf16, shared, <[4 offset:4] [4 offset]>>
func.func @elements(%m: memref<8x8xf32>, %i: index, %x: !x) {
  // expected-error@below {{needs one element type, got 'f32' and 'f16'}}
  sm.copy tma %m[%i, %i] to %x : memref<8x8xf32> to !x
  return
}

// -----

!x = !sm.buffer<4x4xf16, shared, <[4 offset:4] [4 offset]>>
func.func @offsets(%m: memref<8x8xf16>, %i: index, %x: !x) {
  // expected-error@below {{needs 2 offsets of its source, got 1}}
  sm.copy tma %m[%i] to %x : memref<8x8xf16> to !x
  return
}

// -----

!x = !sm.buffer<4x4xf16, shared, <[4 offset:4] [4 offset]>>
func.func @dimensions(%m: memref<8x2x8xf16>, %i: index, %x: !x) {
  // expected-error@below {{needs 2 rising dimensions of a memref of 3, got 0x3}}
  sm.copy tma %m[%i, %i, %i] to %x dims [0, 3] : memref<8x2x8xf16> to !x
  return
}

// -----

!x = !sm.buffer<4x4xf16, shared, <[4 offset:4] [4 offset]>>
func.func @nowhere(%x: !x) {
  // expected-error@below {{needs a target or a result, one of them}}
  sm.copy ld %x : !x
  return
}

// -----

func.func @memory(%m: memref<8x8xf16>, %i: index) {
  // expected-error@below {{needs a buffer or a tile on one side}}
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
  // expected-error@below {{needs an accumulator of 64x64, got 64x32}}
  %s = sm.mma wgmma %x, %y : !x, !y -> tensor<64x32xf32>
  return
}

// -----

!x = !sm.buffer<64x16xf16, shared, <[64 offset:16] [16 offset]>>
!y = !sm.buffer<16x64xf16, shared, <[16 offset:64] [64 offset]>>
func.func @tensor_memory(%x: !x, %y: !y) {
  // expected-error@below {{accumulates in tensor memory with tcgen05: give it a buffer with `into`}}
  %s = sm.mma tcgen05 %x, %y : !x, !y -> tensor<64x64xf32>
  return
}

// -----

!x = !sm.buffer<64x16xf16, shared, <[64 offset:16] [16 offset]>>
func.func @register_rhs(%x: !x, %y: tensor<16x64xf16>) {
  // expected-error@below {{needs its rhs in a buffer with wgmma}}
  %s = sm.mma wgmma %x, %y : !x, tensor<16x64xf16> -> tensor<64x64xf32>
  return
}
