// RUN: not tilewright-opt %s --split-input-file --amdgcn-print-code -o /dev/null 2>&1 | FileCheck %s

/// What only NVIDIA's GPUs have is refused by name, and so are layouts for warps of 32 lanes.

// CHECK: E4051 target: while compiling kernel narrow: 'sm.kernel' at {{.*}} has layouts for warps of 32 lanes, but gfx950 has 64
#rows = #sm.layout<[32 lane]>
sm.kernel @narrow grid [1] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<32xf32>, %out: memref<32xf32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] : memref<32xf32> -> tensor<32xf32, #rows>
  tile.store %t, %out[%c0] : tensor<32xf32, #rows>, memref<32xf32>
}

// -----

// CHECK: E4058 target: while compiling kernel large: has 1088 threads per CTA, but gfx950 supports at most 1024; use fewer warps
#rows = #sm.layout<[64 lane] copies [17 warp]>
sm.kernel @large grid [1] inputs 1 warps 17 {
^bb0(%i: index, %x: memref<64xf32>, %out: memref<64xf32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] : memref<64xf32> -> tensor<64xf32, #rows>
  tile.store %t, %out[%c0] : tensor<64xf32, #rows>, memref<64xf32>
}

// -----

// CHECK: E4051 target: while compiling kernel nvfp4: 'tile.dot' at {{.*}} has scales that MFMA of gfx950 does not apply; gfx950 applies e8m0 scales for blocks of 32 elements
#a = #sm.layout<[16 lane] [2 reg:16, 4 lane:16, 16 reg]>
#b = #sm.layout<[2 reg:16, 4 lane:16, 16 reg] [16 lane]>
#c = #sm.layout<[16 lane] [4 lane:16, 4 reg]>
#s = #sm.layout<[] [] [4 reg:64, 2 reg:32, 2 lane:8] [8 lane, 32 reg] copies [4 lane:16]>
sm.kernel @nvfp4 grid [1] inputs 4 warps 1 {
^bb0(%i: index, %x: memref<16x128xi8>, %y: memref<128x16xi8>, %sx: memref<1x1x16x128xi8>, %sy: memref<1x1x16x128xi8>, %out: memref<16x16xf32>):
  %c0 = arith.constant 0 : index
  %l = tile.load %x[%c0, %c0] : memref<16x128xi8> -> tensor<16x128xi8, #a>
  %r = tile.load %y[%c0, %c0] : memref<128x16xi8> -> tensor<128x16xi8, #b>
  %p = tile.load %sx[%c0, %c0, %c0, %c0] : memref<1x1x16x128xi8> -> tensor<1x1x16x128xi8, #s>
  %q = tile.load %sy[%c0, %c0, %c0, %c0] : memref<1x1x16x128xi8> -> tensor<1x1x16x128xi8, #s>
  %zero = tile.load %out[%c0, %c0] : memref<16x16xf32> -> tensor<16x16xf32, #c>
  %d = tile.dot %l, %r, %zero scaled(%p : tensor<1x1x16x128xi8, #s>, %q : tensor<1x1x16x128xi8, #s>) {block = 16 : i64, lhs_type = f4E2M1FN, rhs_type = f4E2M1FN, scale_type = f8E4M3FN}
    : tensor<16x128xi8, #a>, tensor<128x16xi8, #b> -> tensor<16x16xf32, #c>
  tile.store %d, %out[%c0, %c0] : tensor<16x16xf32, #c>, memref<16x16xf32>
}
