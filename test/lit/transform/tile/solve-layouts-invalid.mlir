// RUN: tilewright-opt %s --tile-solve-layouts --split-input-file --verify-diagnostics

module attributes {exec.target = #exec.target<gpu = <>, matrix = <types = [f16]>>} {
tile.kernel @type grid [1] inputs 3 {
^bb0(%i: index, %x: memref<16x16xbf16>, %y: memref<16x16xf32>, %out: memref<16x16xf32>):
  %zero = arith.constant 0 : index
  %t = tile.load %x[%zero, %zero] : memref<16x16xbf16> -> tensor<16x16xbf16>
  %c = tile.load %y[%zero, %zero] : memref<16x16xf32> -> tensor<16x16xf32>
  // expected-error-re@below {{'tile.dot' at {{.*}}solve-layouts-invalid.mlir:10 has no layout: the chip's matrix instructions do not multiply bf16}}
  %d = tile.dot %t, %t, %c : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xf32>
  tile.store %d, %out[%zero, %zero] : tensor<16x16xf32>, memref<16x16xf32>
}
}

// -----

/// Elements that move between threads need shared memory.

module attributes {exec.target = #exec.target<gpu = <shared_bytes = 256>>} {
tile.kernel @memory grid [1] inputs 2 {
^bb0(%i: index, %x: memref<64x32xf32>, %w: memref<64xf16>, %out: memref<64xf32>):
  %zero = arith.constant 0 : index
  %nil = arith.constant 0.0 : f32
  %t = tile.load %x[%zero, %zero] : memref<64x32xf32> -> tensor<64x32xf32>
  // expected-error-re@below {{'tile.view' at {{.*}}:26 has no layout: its elements would go through shared memory, which has only 256 bytes; use smaller tiles}}
  %v = tile.view %t affine_map<(i, j) -> (63 - i, j)> : tensor<64x32xf32> -> tensor<64x32xf32>
  %s = tile.reduce %v init %nil : f32 dims [1] : tensor<64x32xf32> -> tensor<64xf32> {
  ^bb0(%a: f32, %c: f32):
    %m = arith.addf %a, %c : f32
    tile.yield %m : f32
  }
  tile.store %s, %out[%zero] : tensor<64xf32>, memref<64xf32>
}
}

// -----

/// Two products in a row: what the first gives cannot be both operands of the second, of which one is wanted by rows and one
/// by columns, without a way through memory.

module attributes {exec.target = #exec.target<gpu = <shared_bytes = 256>>} {
tile.kernel @chain grid [1] inputs 3 {
^bb0(%i: index, %x: memref<64x64xf16>, %w: memref<64x64xf16>, %y: memref<64x64xf16>, %out: memref<64x64xf16>):
  %zero = arith.constant 0 : index
  %t = tile.load %x[%zero, %zero] : memref<64x64xf16> -> tensor<64x64xf16>
  %u = tile.load %w[%zero, %zero] : memref<64x64xf16> -> tensor<64x64xf16>
  %c = tile.load %y[%zero, %zero] : memref<64x64xf16> -> tensor<64x64xf16>
  // expected-error-re@below {{no combination of layouts fits these 2 ops: 'tile.dot' at {{.*}}:49 (3 layouts), 'tile.dot' at {{.*}}:50 (3 layouts); between 'tile.dot' at {{.*}}:49 and 'tile.dot' at {{.*}}:50 a tile of 8192 bytes would go through shared memory, which has only 256 bytes; use smaller tiles}}
  %d = tile.dot %t, %u, %c : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf16>
  %e = tile.dot %d, %d, %c : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf16>
  tile.store %e, %out[%zero, %zero] : tensor<64x64xf16>, memref<64x64xf16>
}
}

// -----

tile.kernel @if grid [1] inputs 1 {
^bb0(%i: index, %x: memref<64xf32>, %out: memref<64xf32>):
  %zero = arith.constant 0 : index
  %true = arith.constant true
  // expected-error@below {{has tiles in its region, which only scf.for may have}}
  scf.if %true {
    %t = tile.load %x[%zero] : memref<64xf32> -> tensor<64xf32>
    tile.store %t, %out[%zero] : tensor<64xf32>, memref<64xf32>
  }
}
