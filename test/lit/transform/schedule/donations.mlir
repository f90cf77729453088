// RUN: tilewright-opt %s --schedule-claim-donations --schedule-insert-copies --schedule-assign-buffers --schedule-verify --split-input-file | FileCheck %s

/// What a result takes over from a donated parameter: allocations are numbered parameters first, then results. All results
/// change at one time, so a parameter is read before a result overwrites it.

// -----

/// A parameter that is returned as it came stays where it is, although another result was named for it.

// CHECK-LABEL: func @pass_through
//  CHECK-SAME:   -> (tensor<16xf32>, tensor<16xf32> {exec.alias_of = 0 : i64})
//       CHECK:   exec.reverse{{.*}}exec.slices = [#exec.slice<allocation = 1,
//       CHECK:   exec.copy %arg0 {exec.slices = [#exec.slice<allocation = 2,
func.func @pass_through(%x: tensor<16xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<16xf32>, tensor<16xf32>) {
  %a = exec.reverse(%x) {dimensions = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  return %a, %x : tensor<16xf32>, tensor<16xf32>
}

// -----

/// A parameter that is returned twice stays in one result and is copied to the other first.

// CHECK-LABEL: func @returned_twice
//  CHECK-SAME:   -> (tensor<16xf32> {exec.alias_of = 0 : i64}, tensor<16xf32>)
//       CHECK:   exec.copy %arg0 {exec.slices = [#exec.slice<allocation = 2,
//       CHECK:   exec.copy %arg0 {exec.slices = [#exec.slice<allocation = 1,
func.func @returned_twice(%x: tensor<16xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<16xf32>, tensor<16xf32>) {
  return %x, %x : tensor<16xf32>, tensor<16xf32>
}

// -----

/// A reshaped parameter cannot stay, because its result has another type; it is read before the result overwrites it.

// CHECK-LABEL: func @reshaped
//  CHECK-SAME:   -> (tensor<16xf32> {exec.alias_of = 0 : i64}, tensor<4x4xf32>)
//       CHECK:   %[[A:.*]] = exec.reverse{{.*}}exec.slices = [#exec.slice<allocation = 4,
//       CHECK:   %[[R:.*]] = stablehlo.reshape %arg0
//       CHECK:   exec.copy %[[R]] {exec.slices = [#exec.slice<allocation = 2,
//       CHECK:   exec.copy %[[A]] {exec.slices = [#exec.slice<allocation = 1,
func.func @reshaped(%x: tensor<16xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<16xf32>, tensor<4x4xf32>) {
  %a = exec.reverse(%x) {dimensions = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  %r = stablehlo.reshape %x : (tensor<16xf32>) -> tensor<4x4xf32>
  return %a, %r : tensor<16xf32>, tensor<4x4xf32>
}

// -----

/// Parameters that change places as results change their results, too: nothing moves.

// CHECK-LABEL: func @swap
//  CHECK-SAME:   -> (tensor<16xf32> {exec.alias_of = 1 : i64}, tensor<16xf32> {exec.alias_of = 0 : i64})
func.func @swap(%x: tensor<16xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<16xf32> {tf.aliasing_output = 1 : i32})
    -> (tensor<16xf32>, tensor<16xf32>) {
  return %y, %x : tensor<16xf32>, tensor<16xf32>
}

// -----

/// Reshaped on the way, three of them cannot: a cycle of three needs one temporary.

// CHECK-LABEL: func @rotate
//  CHECK-SAME:   -> (tensor<2x8xf32> {exec.alias_of = 0 : i64}, tensor<4x4xf32> {exec.alias_of = 1 : i64}, tensor<8x2xf32> {exec.alias_of = 2 : i64})
//   CHECK-DAG:   %[[Y:.*]] = stablehlo.reshape %arg1
//   CHECK-DAG:   %[[Z:.*]] = stablehlo.reshape %arg2
//   CHECK-DAG:   %[[X:.*]] = stablehlo.reshape %arg0
//       CHECK:   %[[SAVED:.*]] = exec.copy %[[Y]] {exec.slices = [#exec.slice<allocation = 7,
//       CHECK:   exec.copy %[[Z]] {exec.slices = [#exec.slice<allocation = 4,
//       CHECK:   exec.copy %[[X]] {exec.slices = [#exec.slice<allocation = 5,
//       CHECK:   exec.copy %[[SAVED]] {exec.slices = [#exec.slice<allocation = 3,
//   CHECK-NOT:   exec.copy
//       CHECK:   return
func.func @rotate(%x: tensor<2x8xf32> {jax.buffer_donor = true}, %y: tensor<4x4xf32> {jax.buffer_donor = true},
                  %z: tensor<8x2xf32> {jax.buffer_donor = true}) -> (tensor<2x8xf32>, tensor<4x4xf32>, tensor<8x2xf32>) {
  %a = stablehlo.reshape %y : (tensor<4x4xf32>) -> tensor<2x8xf32>
  %b = stablehlo.reshape %z : (tensor<8x2xf32>) -> tensor<4x4xf32>
  %c = stablehlo.reshape %x : (tensor<2x8xf32>) -> tensor<8x2xf32>
  return %a, %b, %c : tensor<2x8xf32>, tensor<4x4xf32>, tensor<8x2xf32>
}

// -----

/// A chain without a cycle needs none: the end of the chain is copied first.

// CHECK-LABEL: func @chain
//       CHECK:   exec.copy %{{.*}} {exec.slices = [#exec.slice<allocation = 4,
//       CHECK:   exec.copy %{{.*}} {exec.slices = [#exec.slice<allocation = 3,
//       CHECK:   exec.copy %{{.*}} {exec.slices = [#exec.slice<allocation = 2,
//   CHECK-NOT:   exec.copy
//       CHECK:   return
func.func @chain(%x: tensor<2x8xf32> {jax.buffer_donor = true}, %y: tensor<4x4xf32> {jax.buffer_donor = true})
    -> (tensor<2x8xf32>, tensor<4x4xf32>, tensor<16xf32>) {
  %zero = exec.iota() {iota_dimension = 0 : i64} : () -> tensor<2x8xf32>
  %b = stablehlo.reshape %x : (tensor<2x8xf32>) -> tensor<4x4xf32>
  %c = stablehlo.reshape %y : (tensor<4x4xf32>) -> tensor<16xf32>
  return %zero, %b, %c : tensor<2x8xf32>, tensor<4x4xf32>, tensor<16xf32>
}

// -----

/// Memory of another kind is not taken over.

// CHECK-LABEL: func @memory_kinds
//   CHECK-NOT:   exec.alias_of
//       CHECK:   return
func.func @memory_kinds(%x: tensor<16xf32> {jax.buffer_donor = true, mhlo.memory_kind = "pinned_host"}) -> tensor<16xf32> {
  return %x : tensor<16xf32>
}

// -----

/// An op that has the same value as another operand does not work in place: it might read there what it has written.

// CHECK-LABEL: func @operand_twice
//       CHECK:   exec.dynamic_update_slice{{.*}}exec.slices = [#exec.slice<allocation = 4,
func.func @operand_twice(%x: tensor<16xf32> {jax.buffer_donor = true}, %i: tensor<i32>) -> tensor<16xf32> {
  %a = exec.dynamic_update_slice(%x, %x, %i) {aliases = array<i64: 0, 0>} : (tensor<16xf32>, tensor<16xf32>, tensor<i32>) -> tensor<16xf32>
  return %a : tensor<16xf32>
}
