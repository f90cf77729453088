// RUN: tilewright-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: tile.kernel @windows
//       CHECK:   %[[ME:.*]] = tile.rank %{{.*}} : memref<4x64xf32, "window">
//       CHECK:   tile.barrier %{{.*}} : memref<4x2x8xi32, "window">
//       CHECK:   tile.epoch %{{.*}} : memref<4x2x8xi32, "window">
//       CHECK:   tile.reduce_parts add %{{.*}}[%{{.*}}] : memref<4x64xf32, "window"> -> tensor<1x32xf32>
//       CHECK:   tile.store_parts %{{.*}}, %{{.*}}[%{{.*}}] : tensor<1x32xf32>, memref<4x64xf32, "window">
//       CHECK:   tile.signal %{{.*}}[%[[ME]], %{{.*}}] : memref<4x5x3xi32, "window">
//       CHECK:   tile.wait %{{.*}}[%{{.*}}] count 4 : memref<4x5x3xi32, "window">
tile.kernel @windows grid [2] inputs 1 {
^bb0(%p: index, %in: memref<4x64xf32, "window">, %out: memref<4x64xf32, "window">, %s: memref<4x2x8xi32, "window">, %f: memref<4x5x3xi32, "window">):
  %me = tile.rank %in : memref<4x64xf32, "window">
  tile.barrier %s : memref<4x2x8xi32, "window">
  %n = tile.epoch %s : memref<4x2x8xi32, "window">
  %o = affine.apply affine_map<(p) -> (p * 32)>(%p)
  %t = tile.reduce_parts add %in[%o] : memref<4x64xf32, "window"> -> tensor<1x32xf32>
  tile.store_parts %t, %out[%o] : tensor<1x32xf32>, memref<4x64xf32, "window">
  %own = tile.load %in[%me, %o] : memref<4x64xf32, "window"> -> tensor<1x32xf32>
  tile.signal %f[%me, %p] : memref<4x5x3xi32, "window">
  tile.wait %f[%p] count 4 : memref<4x5x3xi32, "window">
}

// -----

tile.kernel @two_parts grid [1] inputs 1 {
^bb0(%p: index, %in: memref<4x64xf32, "window">, %out: memref<2x64xf32>):
  %c0 = arith.constant 0 : index
  // expected-error @below {{expects a tile of one part of the window, which is in bounds in dimension 0, got 'tensor<2x64xf32>'}}
  %t = tile.load %in[%c0, %c0] : memref<4x64xf32, "window"> -> tensor<2x64xf32>
  tile.store %t, %out[%c0, %c0] : tensor<2x64xf32>, memref<2x64xf32>
}

// -----

// expected-error @below {{expects a window to have at least two dimensions, the first of which is the number of ranks, got 'memref<4xf32, "window">'}}
tile.kernel @no_parts grid [1] inputs 1 {
^bb0(%p: index, %in: memref<4xf32, "window">):
}

// -----

tile.kernel @gathered grid [1] inputs 1 {
^bb0(%p: index, %in: memref<4x64xf32, "window">, %out: memref<8xf32>):
  %c0 = arith.constant 0 : index
  %i = tile.iota %c0 dim 0 : tensor<8xindex>
  // expected-error @below {{cannot access a window; load the tile that it needs}}
  %t = tile.gather %in at (%i, %i) : memref<4x64xf32, "window">, tensor<8xindex>, tensor<8xindex> -> tensor<8xf32>
  tile.store %t, %out[%c0] : tensor<8xf32>, memref<8xf32>
}

// -----

tile.kernel @no_window grid [1] inputs 1 {
^bb0(%p: index, %in: memref<4x64xf32>):
  // expected-error @below {{expects a memref in the memory space "window" or "heap", got 'memref<4x64xf32>'}}
  %me = tile.rank %in : memref<4x64xf32>
}

// -----

tile.kernel @few_points grid [3] inputs 1 {
^bb0(%p: index, %s: memref<4x2x8xi32, "window">):
  // expected-error @below {{expects signals of at least 3 points and 8 words each, two for each rank, got 'memref<4x2x8xi32, "window">'}}
  tile.barrier %s : memref<4x2x8xi32, "window">
}

// -----

tile.kernel @flags grid [3] inputs 1 {
^bb0(%p: index, %f: memref<4x2x8xi32, "window">):
  // expected-error @below {{expects flags of 4 words each, one and one for each point, got 'memref<4x2x8xi32, "window">'}}
  tile.wait %f[%p] : memref<4x2x8xi32, "window">
}

// -----

tile.kernel @product grid [1] inputs 1 {
^bb0(%p: index, %in: memref<4x64xf32, "window">, %out: memref<4x64xf32, "window">):
  // expected-error @below {{cannot combine 'f32' by "mul"}}
  %t = tile.reduce_parts mul %in[%p] : memref<4x64xf32, "window"> -> tensor<1x64xf32>
  tile.store_parts %t, %out[%p] : tensor<1x64xf32>, memref<4x64xf32, "window">
}

// -----

// CHECK-LABEL: tile.kernel @heap
//       CHECK:   tile.put %{{.*}}[%{{.*}}] count 32, %{{.*}}[%{{.*}}] [%{{.*}}], %{{.*}}[%{{.*}}] : memref<4x64xf32, "heap">, memref<4x64xf32, "heap">, memref<4x5x3xi64, "heap">
tile.kernel @heap grid [2] inputs 1 {
^bb0(%p: index, %in: memref<4x64xf32, "heap">, %out: memref<4x64xf32, "heap">, %f: memref<4x5x3xi64, "heap">):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.put %in[%c0] count 32, %out[%c1][%c0], %f[%p] : memref<4x64xf32, "heap">, memref<4x64xf32, "heap">, memref<4x5x3xi64, "heap">
  tile.wait %f[%p] : memref<4x5x3xi64, "heap">
}

// -----

tile.kernel @other_part_of_the_heap grid [1] inputs 1 {
^bb0(%p: index, %in: memref<4x64xf32, "heap">, %out: memref<1x64xf32>):
  %c0 = arith.constant 0 : index
  // expected-error @below {{accesses a part of the heap that may be on another node; access the part of `tile.rank`, and send to others by `tile.put`}}
  %t = tile.load %in[%c0, %c0] : memref<4x64xf32, "heap"> -> tensor<1x64xf32>
  tile.store %t, %out[%c0, %c0] : tensor<1x64xf32>, memref<1x64xf32>
}

// -----

tile.kernel @put_from_a_window grid [1] inputs 1 {
^bb0(%p: index, %in: memref<4x64xf32, "window">, %out: memref<4x64xf32, "heap">, %f: memref<4x5x2xi64, "heap">):
  // expected-error @below {{expects memrefs in the memory space "heap", got 'memref<4x64xf32, "window">'}}
  tile.put %in[%p] count 32, %out[%p][%p], %f[%p] : memref<4x64xf32, "window">, memref<4x64xf32, "heap">, memref<4x5x2xi64, "heap">
}

// -----

tile.kernel @put_too_much grid [1] inputs 1 {
^bb0(%p: index, %in: memref<4x64xf32, "heap">, %out: memref<4x32xf32, "heap">, %f: memref<4x5x2xi64, "heap">):
  // expected-error @below {{expects a count of 1 to 32, the size of the smaller part, got 33}}
  tile.put %in[%p] count 33, %out[%p][%p], %f[%p] : memref<4x64xf32, "heap">, memref<4x32xf32, "heap">, memref<4x5x2xi64, "heap">
}

// -----

tile.kernel @words_on_the_heap grid [1] inputs 1 {
^bb0(%p: index, %f: memref<4x5x2xi32, "heap">):
  // expected-error @below {{expects words of 64 bits in a window of rank 3, got 'memref<4x5x2xi32, "heap">'}}
  tile.wait %f[%p] : memref<4x5x2xi32, "heap">
}

// -----

tile.kernel @signal_on_the_heap grid [1] inputs 1 {
^bb0(%p: index, %f: memref<4x5x2xi64, "heap">):
  // expected-error @below {{expects a memref in the memory space "window", whose parts all ranks can access, got 'memref<4x5x2xi64, "heap">'}}
  tile.signal %f[%p, %p] : memref<4x5x2xi64, "heap">
}
