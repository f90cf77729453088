// RUN: tilewright-opt %s --fuse-pack-elements --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --fuse-pack-elements --split-input-file --remark-policy=all --remarks-filter=fuse -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

/// Parameters and results are bytes. The kernel unpacks what it loads, and computes whole bytes.

// CHECK-LABEL: func.func public @main
//  CHECK-SAME:   (%[[X:.*]]: tensor<16xui8> {exec.array_type = tensor<4x8xi4>})
//  CHECK-SAME:   -> (tensor<16xui8> {exec.array_type = tensor<4x8xi4>})
//       CHECK:   %[[Y:.*]] = exec.fusion "negate"(%[[X]]) : (tensor<16xui8>) -> tensor<16xui8>
//       CHECK:     stablehlo.shift_right_logical {{.*}} : tensor<4x4x2xui8>
//       CHECK:     stablehlo.negate {{.*}} : tensor<4x8xi4>
//       CHECK:     stablehlo.or {{.*}} : tensor<4x4xui8>
//       CHECK:   return %[[Y]]
func.func public @main(%x: tensor<4x8xi4>) -> tensor<4x8xi4> {
  %y = exec.fusion "negate"(%x) : (tensor<4x8xi4>) -> tensor<4x8xi4> {
  ^bb0(%a: tensor<4x8xi4>):
    %n = stablehlo.negate %a : tensor<4x8xi4>
    exec.yield %n : tensor<4x8xi4>
  }
  return %y : tensor<4x8xi4>
}

// -----

/// The bits of an array are rounded up to bytes: 15 elements of 4 bits, 5 of 2, 7 of 6. A reshape changes none.

// CHECK-LABEL: func.func public @sizes
//  CHECK-SAME:   %[[A:.*]]: tensor<8xui8>
//  CHECK-SAME:   %[[B:.*]]: tensor<2xui8>
//  CHECK-SAME:   %[[C:.*]]: tensor<6xui8>
//  CHECK-SAME:   %[[D:.*]]: tensor<0x3xi4>
//   CHECK-NOT:   stablehlo.reshape
//       CHECK:   return %[[A]], %[[B]], %[[C]], %[[D]]
func.func public @sizes(%a: tensor<3x5xui4>, %b: tensor<5xui2>, %c: tensor<7xf6E2M3FN>, %d: tensor<0x3xi4>) -> (tensor<15xui4>, tensor<5xui2>, tensor<7xf6E2M3FN>, tensor<0x3xi4>) {
  %r = stablehlo.reshape %a : (tensor<3x5xui4>) -> tensor<15xui4>
  return %r, %b, %c, %d : tensor<15xui4>, tensor<5xui2>, tensor<7xf6E2M3FN>, tensor<0x3xi4>
}

// -----

/// Constants are packed, the first element in the low bits; a loop carries bytes.

// CHECK-LABEL: func.func public @carried
//       CHECK:   %[[C:.*]] = stablehlo.constant dense<[33, 3]> : tensor<2xui8>
//       CHECK:   stablehlo.while(%{{.*}} = %[[C]]) : tensor<2xui8>
func.func public @carried(%p: tensor<i1>) -> tensor<3xui4> {
  %c = stablehlo.constant dense<[1, 2, 3]> : tensor<3xui4>
  %w = stablehlo.while(%s = %c) : tensor<3xui4>
    cond {
      stablehlo.return %p : tensor<i1>
    } do {
      stablehlo.return %s : tensor<3xui4>
    }
  return %w : tensor<3xui4>
}

// -----

/// Rows of whole bytes are updated as bytes.

// CHECK-LABEL: func.func public @rows
//       CHECK:   stablehlo.dynamic_update_slice {{.*}} : (tensor<5x3xui8>, tensor<1x3xui8>, tensor<i32>, tensor<i32>) -> tensor<5x3xui8>
//   CHECK-NOT:   exec.fusion
func.func public @rows(%x: tensor<5x2x3xi4>, %u: tensor<1x2x3xi4>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<5x2x3xi4> {
  %r = stablehlo.dynamic_update_slice %x, %u, %i, %j, %j : (tensor<5x2x3xi4>, tensor<1x2x3xi4>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x3xi4>
  return %r : tensor<5x2x3xi4>
}

// -----

/// An op without a form for packed elements works on single bytes, between kernels that unpack and pack.

// CHECK-LABEL: func.func public @negative_columns
//       CHECK:   exec.fusion "unpack"{{.*}} -> tensor<5x4xi4>
//       CHECK:   exec.fusion "unpack"{{.*}} -> tensor<5x1xi4>
//       CHECK:   stablehlo.dynamic_update_slice {{.*}} -> tensor<5x4xi4>
//       CHECK:   exec.fusion "pack"{{.*}} -> tensor<10xui8>
// REMARK: 'stablehlo.dynamic_update_slice' reads 20 elements, one in each byte: it has no form for packed ones
// REMARK: 'stablehlo.dynamic_update_slice' writes 20 elements, one in each byte
func.func public @negative_columns(%x: tensor<5x4xi4>, %u: tensor<5x1xi4>, %i: tensor<i32>) -> tensor<5x4xi4> {
  %r = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<5x4xi4>, tensor<5x1xi4>, tensor<i32>, tensor<i32>) -> tensor<5x4xi4>
  return %r : tensor<5x4xi4>
}

// -----

/// An op that only moves elements becomes a kernel on packed ones.

// CHECK-LABEL: func.func public @moves
//       CHECK:   exec.fusion "transpose"{{.*}} : (tensor<6xui8>) -> tensor<6xui8>
func.func public @moves(%x: tensor<3x4xi4>) -> tensor<4x3xi4> {
  %r = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x4xi4>) -> tensor<4x3xi4>
  return %r : tensor<4x3xi4>
}

// -----

/// A gather of whole rows takes bytes.

// CHECK-LABEL: func.func public @gathers
//   CHECK-NOT:   exec.fusion
//       CHECK:   "stablehlo.gather"
//  CHECK-SAME:   offset_dims = [1]
//  CHECK-SAME:   slice_sizes = array<i64: 1, 6>
//  CHECK-SAME:   (tensor<9x6xui8>, tensor<7x1xi32>) -> tensor<7x6xui8>
func.func public @gathers(%x: tensor<9x3x4xi4>, %i: tensor<7x1xi32>) -> tensor<7x3x4xi4> {
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3, 4>}> : (tensor<9x3x4xi4>, tensor<7x1xi32>) -> tensor<7x3x4xi4>
  return %r : tensor<7x3x4xi4>
}

// -----

/// Collectives that only move elements move bytes: rows along the gathered dimension, or pieces of the last one.

// CHECK-LABEL: func.func public @collectives
//   CHECK-NOT:   exec.fusion
//       CHECK:   "stablehlo.all_gather"{{.*}}all_gather_dim = 0 {{.*}} : (tensor<3x2xui8>) -> tensor<6x2xui8>
//       CHECK:   "stablehlo.all_gather"{{.*}}all_gather_dim = 1 {{.*}} : (tensor<3x2xui8>) -> tensor<3x4xui8>
//       CHECK:   "stablehlo.collective_permute"{{.*}} : (tensor<6xui8>) -> tensor<6xui8>
func.func public @collectives(%x: tensor<3x4xi4>) -> (tensor<6x4xi4>, tensor<3x8xi4>, tensor<3x4xi4>) {
  %a = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<3x4xi4>) -> tensor<6x4xi4>
  %b = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<3x4xi4>) -> tensor<3x8xi4>
  %c = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<3x4xi4>) -> tensor<3x4xi4>
  return %a, %b, %c : tensor<6x4xi4>, tensor<3x8xi4>, tensor<3x4xi4>
}

// -----

/// Rows of 3 elements of 4 bits are not whole bytes.

// CHECK-LABEL: func.func public @negative_rows
//       CHECK:   exec.fusion "unpack"
//       CHECK:   "stablehlo.all_gather"{{.*}} : (tensor<2x3xi4>) -> tensor<4x3xi4>
//       CHECK:   exec.fusion "pack"
func.func public @negative_rows(%x: tensor<2x3xi4>) -> tensor<4x3xi4> {
  %a = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x3xi4>) -> tensor<4x3xi4>
  return %a : tensor<4x3xi4>
}

// -----

/// The sharding of a parameter describes its dimensions, which the bytes do not have.

// CHECK-LABEL: func.func public @sharded
//  CHECK-SAME:   (%{{.*}}: tensor<16xui8> {exec.array_type = tensor<4x8xi4>})
module {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @sharded(%x: tensor<4x8xi4> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}) -> tensor<4x8xi4> {
    return %x : tensor<4x8xi4>
  }
}
