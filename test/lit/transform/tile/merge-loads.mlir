// RUN: tilewright-opt %s --tile-merge-loads --split-input-file | FileCheck %s

/// Two groups of 32 elements are adjacent in memory, so the product loads them as one line, and views it as groups for the scales. These have no dimension of
/// the elements in a group.

module attributes {exec.target = #exec.target<gpu = <>>} {
//       CHECK: #[[LINES:.*]] = affine_map<(d0) -> (d0 * 64)>
// CHECK-LABEL: tile.kernel @groups
//       CHECK:   ^bb0(%[[I:.*]]: index, %[[X:.*]]: memref<128x512xf8E4M3FN>, %[[S:.*]]: memref<128x16xf8E8M0FNU>, %[[Y:.*]]: memref<64x512xbf16>,
//       CHECK:   %[[K:.*]] = affine.apply #[[LINES]](%{{.*}})
//       CHECK:   %[[LINE:.*]] = tile.load %[[X]][%{{.*}}, %[[K]]] in_bounds [true, false] : memref<128x512xf8E4M3FN> -> tensor<128x64xf8E4M3FN>
//       CHECK:   tile.view %[[LINE]] affine_map<(d0, d1, d2) -> (d0, d1 * 32 + d2)> : tensor<128x64xf8E4M3FN> -> tensor<128x2x32xf8E4M3FN>
//       CHECK:   tile.load %[[S]][%{{.*}}, %{{.*}}] : memref<128x16xf8E8M0FNU> -> tensor<128x2xf8E8M0FNU>
//       CHECK:   tile.load %[[Y]][%{{.*}}, %{{.*}}] : memref<64x512xbf16> -> tensor<64x64xbf16>
tile.kernel @groups grid [1] inputs 3 {
^bb0(%i: index, %x: memref<128x16x32xf8E4M3FN>, %s: memref<128x16xf8E8M0FNU>, %y: memref<64x16x32xbf16>, %r: memref<128x64xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %z = tile.map() : () -> tensor<128x64xf32> {
    %zero = arith.constant 0.0 : f32
    tile.yield %zero : f32
  }
  %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%acc = %z) -> tensor<128x64xf32> {
    %g = affine.apply affine_map<(d0) -> (d0 * 2)>(%k)
    %e = tile.load %x[%c0, %g, %c0] in_bounds [true, false, true] : memref<128x16x32xf8E4M3FN> -> tensor<128x2x32xf8E4M3FN>
    %q = tile.load %s[%c0, %g] : memref<128x16xf8E8M0FNU> -> tensor<128x2xf8E8M0FNU>
    %w = tile.view %q affine_map<(i, j, k) -> (i, j)> : tensor<128x2xf8E8M0FNU> -> tensor<128x2x32xf8E8M0FNU>
    %m = tile.map(%e, %w) : (tensor<128x2x32xf8E4M3FN>, tensor<128x2x32xf8E8M0FNU>) -> tensor<128x2x32xbf16> {
    ^bb0(%u: f8E4M3FN, %v: f8E8M0FNU):
      %uw = arith.extf %u : f8E4M3FN to bf16
      %vw = arith.extf %v : f8E8M0FNU to bf16
      %p = arith.mulf %uw, %vw : bf16
      tile.yield %p : bf16
    }
    %a = tile.view %m affine_map<(i, k) -> (i, k floordiv 32, k mod 32)> : tensor<128x2x32xbf16> -> tensor<128x64xbf16>
    %l = tile.load %y[%c0, %g, %c0] : memref<64x16x32xbf16> -> tensor<64x2x32xbf16>
    %b = tile.view %l affine_map<(k, n) -> (n, k floordiv 32, k mod 32)> : tensor<64x2x32xbf16> -> tensor<64x64xbf16>
    %d = tile.dot %a, %b, %acc : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    scf.yield %d : tensor<128x64xf32>
  }
  tile.store %sum, %r[%c0, %c0] : tensor<128x64xf32>, memref<128x64xf32>
}
}

// -----

/// Rows that are positions of a line, with all features of each, are two indices of the matrices: the copy engine has a box for them.

module attributes {exec.target = #exec.target<gpu = <>>} {
// CHECK-LABEL: tile.kernel @negative_rows
//       CHECK:   tile.load {{.*}} : memref<4x64x64xbf16> -> tensor<1x32x64xbf16>
tile.kernel @negative_rows grid [1] inputs 2 {
^bb0(%i: index, %x: memref<4x64x64xbf16>, %y: memref<64x64xbf16>, %r: memref<32x64xf32>):
  %c0 = arith.constant 0 : index
  %z = tile.map() : () -> tensor<32x64xf32> {
    %zero = arith.constant 0.0 : f32
    tile.yield %zero : f32
  }
  %l = tile.load %x[%c0, %c0, %c0] : memref<4x64x64xbf16> -> tensor<1x32x64xbf16>
  %a = tile.view %l affine_map<(m, k) -> (0, m, k)> : tensor<1x32x64xbf16> -> tensor<32x64xbf16>
  %b = tile.load %y[%c0, %c0] : memref<64x64xbf16> -> tensor<64x64xbf16>
  %d = tile.dot %a, %b, %z : tensor<32x64xbf16>, tensor<64x64xbf16> -> tensor<32x64xf32>
  tile.store %d, %r[%c0, %c0] : tensor<32x64xf32>, memref<32x64xf32>
}
}
