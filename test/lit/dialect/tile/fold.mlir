// RUN: tilewright-opt %s --canonicalize | FileCheck %s

/// A view of a view is one view.

// CHECK-LABEL: func @view_of_view
//  CHECK-SAME:   (%[[X:.*]]: tensor<4x8xf32>)
//       CHECK:   %[[V:.*]] = tile.view %[[X]] affine_map<(d0) -> (d0 mod 4, d0 floordiv 4)>
//  CHECK-NEXT:   return %[[V]]
func.func @view_of_view(%x: tensor<4x8xf32>) -> tensor<32xf32> {
  %t = tile.view %x affine_map<(i, j) -> (j, i)> : tensor<4x8xf32> -> tensor<8x4xf32>
  %r = tile.view %t affine_map<(i) -> (i floordiv 4, i mod 4)> : tensor<8x4xf32> -> tensor<32xf32>
  return %r : tensor<32xf32>
}

/// There and back is nothing.

// CHECK-LABEL: func @identity
//  CHECK-SAME:   (%[[X:.*]]: tensor<4x8xf32>)
//  CHECK-NEXT:   return %[[X]]
func.func @identity(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %t = tile.view %x affine_map<(i, j) -> (j, i)> : tensor<4x8xf32> -> tensor<8x4xf32>
  %r = tile.view %t affine_map<(i, j) -> (j, i)> : tensor<8x4xf32> -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

/// The first half is not the whole.

// CHECK-LABEL: func @negative_slice
//       CHECK:   tile.view
func.func @negative_slice(%x: tensor<8xf32>) -> tensor<4xf32> {
  %r = tile.view %x affine_map<(i) -> (i)> : tensor<8xf32> -> tensor<4xf32>
  return %r : tensor<4xf32>
}
