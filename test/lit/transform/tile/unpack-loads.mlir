// RUN: tilewright-opt %s --tile-unpack-loads --split-input-file | FileCheck %s

/// A product loads the bytes of its weights, and shifts each by the element's place. The kernel that unpacked them is gone.

module attributes {exec.target = #exec.target<gpu = <>>} {
// CHECK-LABEL: func.func @product
//  CHECK-SAME:   (%[[X:.*]]: tensor<64x64xbf16>, %[[W:.*]]: tensor<2048xui8>)
//   CHECK-NOT:   @unpack
//       CHECK:   exec.launch @dot(%[[X]], %[[W]])
//   CHECK-NOT: tile.kernel @unpack
// CHECK-LABEL: tile.kernel @dot
//       CHECK:   memref<64x32xi8>
//       CHECK:   %[[BYTES:.*]] = tile.load {{.*}} : memref<64x32xi8> -> tensor<64x16xi8>
//       CHECK:   %[[SPREAD:.*]] = tile.view %[[BYTES]] affine_map<(d0, d1) -> (d0, d1 floordiv 2)>
//       CHECK:   %[[PLACE:.*]] = tile.iota {{.*}} dim 1
//       CHECK:   tile.map(%[[PLACE]], %[[SPREAD]]) {{.*}} -> tensor<64x32xbf16>
//       CHECK:     arith.shrui
//       CHECK:     arith.trunci {{.*}} to i4
func.func @product(%x: tensor<64x64xbf16>, %w: tensor<2048xui8>) -> tensor<64x64xf32> {
  %u = exec.launch @unpack(%w) {exec.unpacks} : (tensor<2048xui8>) -> tensor<64x64xi4>
  %r = exec.launch @dot(%x, %u) : (tensor<64x64xbf16>, tensor<64x64xi4>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}
tile.kernel @unpack grid [1] inputs 1 {
^bb0(%i: index, %w: memref<2048xi8>, %u: memref<64x64xi4>):
}
tile.kernel @dot grid [2] inputs 2 {
^bb0(%i: index, %x: memref<64x64xbf16>, %w: memref<64x64xi4>, %r: memref<64x64xf32>):
  %c0 = arith.constant 0 : index
  %j = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
  %a = tile.load %x[%c0, %c0] : memref<64x64xbf16> -> tensor<64x64xbf16>
  %q = tile.load %w[%c0, %j] : memref<64x64xi4> -> tensor<64x32xi4>
  %b = tile.map(%q) : (tensor<64x32xi4>) -> tensor<64x32xbf16> {
  ^bb0(%e: i4):
    %f = arith.sitofp %e : i4 to bf16
    tile.yield %f : bf16
  }
  %z = tile.map() : () -> tensor<64x32xf32> {
    %zero = arith.constant 0.0 : f32
    tile.yield %zero : f32
  }
  %d = tile.dot %a, %b, %z : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.store %d, %r[%c0, %j] : tensor<64x32xf32>, memref<64x64xf32>
}
}

// -----

/// A tile that begins inside a byte stays as it is.

module attributes {exec.target = #exec.target<gpu = <>>} {
// CHECK-LABEL: func.func @negative_odd
//       CHECK:   exec.launch @unpack
//       CHECK:   tile.load {{.*}} : memref<64x63xi4> -> tensor<64x32xi4>
func.func @negative_odd(%x: tensor<64x64xbf16>, %w: tensor<2016xui8>) -> tensor<64x63xf32> {
  %u = exec.launch @unpack(%w) {exec.unpacks} : (tensor<2016xui8>) -> tensor<64x63xi4>
  %r = exec.launch @dot(%x, %u) : (tensor<64x64xbf16>, tensor<64x63xi4>) -> tensor<64x63xf32>
  return %r : tensor<64x63xf32>
}
tile.kernel @unpack grid [1] inputs 1 {
^bb0(%i: index, %w: memref<2016xi8>, %u: memref<64x63xi4>):
}
tile.kernel @dot grid [2] inputs 2 {
^bb0(%i: index, %x: memref<64x64xbf16>, %w: memref<64x63xi4>, %r: memref<64x63xf32>):
  %c0 = arith.constant 0 : index
  %j = affine.apply affine_map<(d0) -> (d0 * 32)>(%i)
  %a = tile.load %x[%c0, %c0] : memref<64x64xbf16> -> tensor<64x64xbf16>
  %q = tile.load %w[%c0, %j] in_bounds [true, false] : memref<64x63xi4> -> tensor<64x32xi4>
  %b = tile.map(%q) : (tensor<64x32xi4>) -> tensor<64x32xbf16> {
  ^bb0(%e: i4):
    %f = arith.sitofp %e : i4 to bf16
    tile.yield %f : bf16
  }
  %z = tile.map() : () -> tensor<64x32xf32> {
    %zero = arith.constant 0.0 : f32
    tile.yield %zero : f32
  }
  %d = tile.dot %a, %b, %z : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
  tile.store %d, %r[%c0, %j] in_bounds [true, false] : tensor<64x32xf32>, memref<64x63xf32>
}
}
