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
