// RUN: tilewright-opt %s --cpu-lower-ops --split-input-file | FileCheck %s

/// Each field of the dimension numbers is an attribute; the strictest precision counts.

// CHECK-LABEL: func @dot
//       CHECK:   exec.dot_general
//  CHECK-SAME:     lhs_contracting_dimensions = array<i64: 1>
//  CHECK-SAME:     precision = #exec.precision<HIGHEST>
//  CHECK-SAME:     rhs_contracting_dimensions = array<i64: 0>
func.func @dot(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>) -> tensor<4x3xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT]
      : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

/// A comparator that is known needs no function. Operands that follow another's order cannot be sorted in place.

// CHECK-LABEL: func @sort
//       CHECK:   exec.sort
//   CHECK-NOT:     aliases
//  CHECK-SAME:     comparator = #exec.comparator<gt>
//  CHECK-SAME:     comparator_operand = 1 : i64
//  CHECK-SAME:     dimension = 0 : i64
//   CHECK-NOT:   func.func private
func.func @sort(%a: tensor<8xi32>, %b: tensor<8xi32>) -> (tensor<8xi32>, tensor<8xi32>) {
  %0:2 = "stablehlo.sort"(%a, %b) ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>, %v: tensor<i32>, %w: tensor<i32>):
    %c = stablehlo.compare GT, %v, %w, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<8xi32>, tensor<8xi32>) -> (tensor<8xi32>, tensor<8xi32>)
  return %0#0, %0#1 : tensor<8xi32>, tensor<8xi32>
}

// -----

/// JAX sorts floats with zeros and NaNs made equal first.

// CHECK-LABEL: func @sort_floats
//       CHECK:   exec.sort
//  CHECK-SAME:     {aliases = array<i64: 0, 0>, comparator = #exec.comparator<lt>, dimension = 0 : i64}
func.func @sort_floats(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.sort"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %1 = stablehlo.compare EQ, %x, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.select %1, %zero, %x : tensor<i1>, tensor<f32>
    %3 = stablehlo.compare NE, %x, %x, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.select %3, %nan, %2 : tensor<i1>, tensor<f32>
    %5 = stablehlo.compare EQ, %y, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %6 = stablehlo.select %5, %zero, %y : tensor<i1>, tensor<f32>
    %7 = stablehlo.compare NE, %y, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %8 = stablehlo.select %7, %nan, %6 : tensor<i1>, tensor<f32>
    %9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %9 : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

/// A region that is not one known op becomes a function; equal regions share it.

// CHECK-LABEL: func @reduce
//       CHECK:   exec.reduce{{.*}}bodies = [@body_0], body = #exec.combiner<function>
//       CHECK:   exec.reduce{{.*}}bodies = [@body_0]
//       CHECK:   exec.reduce{{.*}}body = #exec.combiner<maximum>
//       CHECK: func.func private @body_0(%{{.*}}: f32, %{{.*}}: f32) -> f32
//   CHECK-NOT: func.func private
func.func @reduce(%a: tensor<4x8xf32>, %z: tensor<f32>) -> (tensor<4xf32>, tensor<8xf32>, tensor<4xf32>) {
  %0 = "stablehlo.reduce"(%a, %z) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.multiply %y, %y : tensor<f32>
    %c = stablehlo.add %x, %m : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) {dimensions = array<i64: 1>} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "stablehlo.reduce"(%a, %z) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.multiply %y, %y : tensor<f32>
    %c = stablehlo.add %x, %m : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = "stablehlo.reduce"(%a, %z) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) {dimensions = array<i64: 1>} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<8xf32>, tensor<4xf32>
}

// -----

/// Groups become ranks: with a channel, replicas of all partitions.

// CHECK-LABEL: func @all_reduce
//       CHECK:   %[[S:.*]] = exec.collective_start <kind = all_reduce, reduction = add>
//  CHECK-SAME:     groups = dense<{{\[}}[0, 1]]> : tensor<1x2xi64>, id = 0
//       CHECK:   exec.collective_done(%[[S]]) {id = 0
//       CHECK:   exec.rank_id() {kind = #exec.rank_kind<partition>}
module attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 2 : i32} {
func.func @all_reduce(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<ui32>) {
  %0 = "stablehlo.all_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) {replica_groups = dense<[[0]]> : tensor<1x1xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.partition_id : tensor<ui32>
  return %0, %1 : tensor<4xf32>, tensor<ui32>
}
}

// -----

/// A reduction that engines do not know by name is a function, here the second operand.

// CHECK-LABEL: func @last_of_all
//       CHECK:   exec.collective_start <kind = all_reduce, reduction = function>(%arg0) {bodies = [@[[BODY:.*]]], groups
//       CHECK:   exec.collective_start <kind = all_to_all, dimension = 1>(%{{.*}})
//       CHECK: func private @[[BODY]](%{{.*}}: f32, %[[SECOND:.*]]: f32)
//  CHECK-NEXT:   return %[[SECOND]]
module attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 2 : i32} {
func.func @last_of_all(%a: tensor<4x4xf32>) -> tensor<2x8xf32> {
  %0 = "stablehlo.all_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "stablehlo.all_to_all"(%0) {split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64,
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>} : (tensor<4x4xf32>) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}
}

// -----

/// Targets are handlers with their typed configuration, which JAX writes beside the op, and with
/// the order of memory that they want: LAPACK's is by columns.

// CHECK-LABEL: func @custom_calls
//       CHECK:   exec.custom_call "lapack_spotrf_ffi"{{.*}}aliases = array<i64: 0, 0>
//  CHECK-SAME:     api_version = 4 : i32, config = {uplo = 76 : ui8}, operand_layouts = array<i64: 0, 1>
//       CHECK:   exec.custom_call "mine"{{.*}}api_version = 4 : i32, config = {x = 1.500000e+00 : f32}
//       CHECK:   return %{{.*}}, %{{.*}}, %arg0
func.func @custom_calls(%a: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xi32>, tensor<4x4xf32>) {
  %0 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {backend_config = "", mhlo.backend_config = {uplo = 76 : ui8},
      operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>],
      output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0,
                                                                operand_tuple_indices = []>]}
      : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.custom_call @mine(%a) {backend_config = {x = 1.5 : f32}, api_version = 4 : i32}
      : (tensor<4x4xf32>) -> tensor<4xi32>
  %2 = stablehlo.custom_call @Sharding(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %1, %2 : tensor<4x4xf32>, tensor<4xi32>, tensor<4x4xf32>
}

// -----

/// An elementwise op that fusion left alone gets a kernel over flat memory; scalars are spread.

// CHECK-LABEL: func @clamp
//       CHECK:   exec.launch @op_clamp(%{{.*}}) {aliases = array<i64: 0, 1>}
//       CHECK: tile.kernel @op_clamp grid [3] inputs 3
//       CHECK:   tile.load %{{.*}} in_bounds [false] : memref<20000xf32> -> tensor<8192xf32>
//       CHECK:   arith.maximumf
func.func @clamp(%low: tensor<f32>, %a: tensor<100x200xf32>, %high: tensor<f32>) -> tensor<100x200xf32> {
  %0 = stablehlo.clamp %low, %a, %high : (tensor<f32>, tensor<100x200xf32>, tensor<f32>) -> tensor<100x200xf32>
  return %0 : tensor<100x200xf32>
}

// -----

/// Views of memory stay for the schedule; what is in a loop is lowered too.

// CHECK-LABEL: func @loop
//       CHECK:   stablehlo.while
//       CHECK:     exec.launch @op_compare
//       CHECK:     exec.launch @op_add
//       CHECK:   stablehlo.reshape
func.func @loop(%i: tensor<i32>, %n: tensor<i32>) -> tensor<1xi32> {
  %r = stablehlo.while(%j = %i) : tensor<i32>
  cond {
    %c = stablehlo.compare LT, %j, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %k = stablehlo.add %j, %j : tensor<i32>
    stablehlo.return %k : tensor<i32>
  }
  %s = stablehlo.reshape %r : (tensor<i32>) -> tensor<1xi32>
  return %s : tensor<1xi32>
}

// -----

/// A kernel must not have the name of a function that code calls.

// CHECK-LABEL: func @names
//       CHECK:   exec.launch @kernel_tanh
//       CHECK: tile.kernel @kernel_tanh
func.func @names(%a: tensor<8xf64>) -> tensor<8xf64> {
  %0 = exec.launch @tanh(%a) : (tensor<8xf64>) -> tensor<8xf64>
  return %0 : tensor<8xf64>
}
tile.kernel @tanh grid [1] inputs 1 {
^bb0(%i: index, %x: memref<8xf64>, %out: memref<8xf64>):
  %t = tile.load %x[%i] : memref<8xf64> -> tensor<8xf64>
  tile.store %t, %out[%i] : tensor<8xf64>, memref<8xf64>
}
