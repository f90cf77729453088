// RUN: tilewright-opt %s --tile-fusions --split-input-file | FileCheck %s

/// Dimensions that all ops treat alike are one; a constant is part of the arithmetic; the
/// output may be written over the input that is read at the same elements.

// CHECK-LABEL: func @elementwise
//       CHECK:   exec.launch @add_exp(%{{.*}}, %{{.*}}) {aliases = array<i64: 0, 0>, exec.cost = {bytes = {{.*}}, flops = {{.*}}}}
//       CHECK: tile.kernel @add_exp grid [16] inputs 2 {
//       CHECK: ^bb0(%[[I:.*]]: index, %[[X:.*]]: memref<1280x100xf32>, %[[B:.*]]: memref<100xf32>, %[[OUT:.*]]: memref<1280x100xf32>):
//       CHECK:   %[[ROW:.*]] = affine.apply #{{.*}}(%[[I]])
//       CHECK:   %[[XT:.*]] = tile.load %[[X]][%[[ROW]], %{{.*}}] : memref<1280x100xf32> -> tensor<80x100xf32>
//       CHECK:   %[[BT:.*]] = tile.load %[[B]]
//       CHECK:   %[[BV:.*]] = tile.view %[[BT]]
//       CHECK:   %[[R:.*]] = tile.map(%[[XT]], %[[BV]])
//       CHECK:     arith.addf
//       CHECK:     arith.constant 2.0
//       CHECK:     arith.mulf
//       CHECK:     math.exp
//       CHECK:   tile.store %[[R]], %[[OUT]][%[[ROW]], %{{.*}}]
module attributes {exec.target = #exec.target<units = 2, cpu = <vector_bytes = 32, l1_bytes = 32768>>} {
func.func @elementwise(%x: tensor<32x40x100xf32>, %b: tensor<100xf32>) -> tensor<32x40x100xf32> {
  %r = exec.fusion "add_exp" (%x, %b) : (tensor<32x40x100xf32>, tensor<100xf32>) -> tensor<32x40x100xf32> {
  ^bb0(%a: tensor<32x40x100xf32>, %c: tensor<100xf32>):
    %d = stablehlo.broadcast_in_dim %c, dims = [2] : (tensor<100xf32>) -> tensor<32x40x100xf32>
    %e = stablehlo.add %a, %d : tensor<32x40x100xf32>
    %two = stablehlo.constant dense<2.0> : tensor<32x40x100xf32>
    %s = stablehlo.multiply %e, %two : tensor<32x40x100xf32>
    %f = stablehlo.exponential %s : tensor<32x40x100xf32>
    exec.yield %f : tensor<32x40x100xf32>
  }
  return %r : tensor<32x40x100xf32>
}
}

// -----

/// Rows stay whole, because every row is reduced; the reshape at the end is free.

// CHECK-LABEL: tile.kernel @softmax grid [32] inputs 1 {
//       CHECK:   %[[X:.*]] = tile.load %{{.*}} -> tensor<16x512xf32>
//       CHECK:   %[[MAX:.*]] = tile.reduce %[[X]] init %{{.*}} : f32 dims [1]
//       CHECK:   %[[MAXV:.*]] = tile.view %[[MAX]]
//       CHECK:   %[[E:.*]] = tile.map(%[[X]], %[[MAXV]])
//       CHECK:   %[[SUM:.*]] = tile.reduce %[[E]] init %{{.*}} : f32 dims [1]
//       CHECK:   %[[SUMV:.*]] = tile.view %[[SUM]]
//       CHECK:   %[[Q:.*]] = tile.map(%[[E]], %[[SUMV]])
//       CHECK:   tile.store %[[Q]]
module attributes {exec.target = #exec.target<units = 2, cpu = <vector_bytes = 32, l1_bytes = 32768>>} {
func.func @main(%x: tensor<4x128x512xf32>) -> tensor<512x512xf32> {
  %r = exec.fusion "softmax" (%x) : (tensor<4x128x512xf32>) -> tensor<512x512xf32> {
  ^bb0(%a: tensor<4x128x512xf32>):
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %m = stablehlo.reduce(%a init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<4x128x512xf32>, tensor<f32>) -> tensor<4x128xf32>
    %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<4x128xf32>) -> tensor<4x128x512xf32>
    %d = stablehlo.subtract %a, %mb : tensor<4x128x512xf32>
    %e = stablehlo.exponential %d : tensor<4x128x512xf32>
    %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4x128x512xf32>, tensor<f32>) -> tensor<4x128xf32>
    %sb = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<4x128xf32>) -> tensor<4x128x512xf32>
    %q = stablehlo.divide %e, %sb : tensor<4x128x512xf32>
    %z = stablehlo.reshape %q : (tensor<4x128x512xf32>) -> tensor<512x512xf32>
    exec.yield %z : tensor<512x512xf32>
  }
  return %r : tensor<512x512xf32>
}
}

// -----

/// Columns in pieces of whole vectors; the last piece is ragged, so it is masked.

// CHECK-LABEL: tile.kernel @colsum grid [5] inputs 1 {
//       CHECK:   tile.load {{.*}} in_bounds [true, false] : memref<1000x300xf32> -> tensor<1000x64xf32>
//       CHECK:   tile.reduce {{.*}} dims [0] : tensor<1000x64xf32> -> tensor<64xf32>
//       CHECK:   tile.store {{.*}} in_bounds [false]
module attributes {exec.target = #exec.target<units = 2, cpu = <vector_bytes = 32, l1_bytes = 32768>>} {
func.func @main(%x: tensor<1000x300xf32>) -> tensor<300xf32> {
  %r = exec.fusion "colsum" (%x) : (tensor<1000x300xf32>) -> tensor<300xf32> {
  ^bb0(%a: tensor<1000x300xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %e = stablehlo.multiply %a, %a : tensor<1000x300xf32>
    %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1000x300xf32>, tensor<f32>) -> tensor<300xf32>
    exec.yield %s : tensor<300xf32>
  }
  return %r : tensor<300xf32>
}
}

// -----

/// A transposition is cut along both dimensions that lie in a row somewhere.

// CHECK-LABEL: tile.kernel @transpose grid [4, 32] inputs 1 {
//       CHECK:   %[[T:.*]] = tile.load %{{.*}} -> tensor<32x128xf32>
//       CHECK:   %[[V:.*]] = tile.view %[[T]]
//       CHECK:   tile.store %[[V]]
module attributes {exec.target = #exec.target<units = 2, cpu = <vector_bytes = 32, l1_bytes = 32768>>} {
func.func @main(%x: tensor<1024x512xf32>) -> tensor<512x1024xf32> {
  %r = exec.fusion "transpose" (%x) : (tensor<1024x512xf32>) -> tensor<512x1024xf32> {
  ^bb0(%a: tensor<1024x512xf32>):
    %s = stablehlo.transpose %a, dims = [1, 0] : (tensor<1024x512xf32>) -> tensor<512x1024xf32>
    exec.yield %s : tensor<512x1024xf32>
  }
  return %r : tensor<512x1024xf32>
}
}

// -----

/// What is padded is chosen by its index; nothing outside is read.

// CHECK-LABEL: tile.kernel @padded grid [1] inputs 1 {
//       CHECK:   %[[AT:.*]] = tile.iota %{{.*}} dim 0 : tensor<15xindex>
//       CHECK:   %[[X:.*]] = tile.load %{{.*}} in_bounds [false] : memref<10xf32> -> tensor<15xf32>
//       CHECK:   tile.map(%[[X]], %[[AT]])
//       CHECK:     arith.cmpi ult
//       CHECK:     arith.select
func.func @main(%x: tensor<10xf32>) -> tensor<15xf32> {
  %r = exec.fusion "padded" (%x) : (tensor<10xf32>) -> tensor<15xf32> {
  ^bb0(%a: tensor<10xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %e = stablehlo.exponential %a : tensor<10xf32>
    %s = stablehlo.pad %e, %zero, low = [2], high = [3], interior = [0] : (tensor<10xf32>, tensor<f32>) -> tensor<15xf32>
    exec.yield %s : tensor<15xf32>
  }
  return %r : tensor<15xf32>
}

// -----

/// Writing over %x would change what the sum of its transpose reads.

// CHECK-LABEL: func @negative_alias
//   CHECK-NOT:   aliases
//       CHECK: tile.kernel
func.func @negative_alias(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = exec.fusion "symmetric" (%x) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %s = stablehlo.add %a, %t : tensor<8x8xf32>
    exec.yield %s : tensor<8x8xf32>
  }
  return %r : tensor<8x8xf32>
}

// -----

/// The second result needs %b too, after the element that chooses its row was asked for: by then the
/// first result is written, so it must not lie where %b is.

// CHECK-LABEL: func @negative_alias_across_an_element
//   CHECK-NOT:   aliases
//       CHECK: tile.kernel
func.func @negative_alias_across_an_element(%t: tensor<5x3xf32>, %u: tensor<5x3xf32>, %i: tensor<i32>,
                                            %b: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %r:2 = exec.fusion "rows" (%t, %u, %i, %b) : (tensor<5x3xf32>, tensor<5x3xf32>, tensor<i32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%a: tensor<5x3xf32>, %c: tensor<5x3xf32>, %at: tensor<i32>, %e: tensor<f32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %none = stablehlo.constant dense<0> : tensor<i32>
    %ra = stablehlo.dynamic_slice %a, %at, %none, sizes = [1, 3] : (tensor<5x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
    %rc = stablehlo.dynamic_slice %c, %at, %none, sizes = [1, 3] : (tensor<5x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
    %sa = stablehlo.reduce(%ra init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x3xf32>, tensor<f32>) -> tensor<f32>
    %sc = stablehlo.reduce(%rc init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x3xf32>, tensor<f32>) -> tensor<f32>
    %x = stablehlo.add %sa, %e : tensor<f32>
    %first = stablehlo.cosine %x : tensor<f32>
    %sine = stablehlo.sine %x : tensor<f32>
    %second = stablehlo.multiply %sc, %sine : tensor<f32>
    exec.yield %first, %second : tensor<f32>, tensor<f32>
  }
  return %r#0, %r#1 : tensor<f32>, tensor<f32>
}

// -----

/// Two results of one box whose elements need only their own: each may lie on an input that both read.

// CHECK-LABEL: func @alias_of_two
//       CHECK:   exec.launch @update({{.*}}) {aliases = array<i64: 0, 0, 1, 1>
func.func @alias_of_two(%p: tensor<64xf32>, %m: tensor<64xf32>, %g: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %r:2 = exec.fusion "update" (%p, %m, %g) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>, %c: tensor<64xf32>):
    %n = stablehlo.add %b, %c : tensor<64xf32>
    %q = stablehlo.subtract %a, %n : tensor<64xf32>
    exec.yield %q, %n : tensor<64xf32>, tensor<64xf32>
  }
  return %r#0, %r#1 : tensor<64xf32>, tensor<64xf32>
}

// -----

/// An op that has no place in a kernel stands alone again; the others are kernels.

// CHECK-LABEL: func @negative_falls_apart
//       CHECK:   exec.launch @negate
//       CHECK:   stablehlo.sort
//       CHECK:   exec.launch @exponential
func.func @negative_falls_apart(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = exec.fusion "sorted" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %n = stablehlo.negate %a : tensor<8xf32>
    %s = "stablehlo.sort"(%n) <{dimension = 0 : i64, is_stable = false}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %lt = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %lt : tensor<i1>
    }) : (tensor<8xf32>) -> tensor<8xf32>
    %e = stablehlo.exponential %s : tensor<8xf32>
    exec.yield %e : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

/// A position is read from memory, moved inside, and added to the offset; no mask is needed.

// CHECK-LABEL: tile.kernel @sliced grid [1] inputs 2 {
//       CHECK:   %[[T:.*]] = tile.load %{{.*}}[] : memref<i32> -> tensor<i32>
//       CHECK:   %[[S:.*]] = tensor.extract %[[T]][]
//       CHECK:   %[[W:.*]] = arith.extsi %[[S]] : i32 to i64
//       CHECK:   arith.maxsi %[[W]]
//       CHECK:   arith.minsi
//       CHECK:   %[[I:.*]] = arith.index_cast
//       CHECK:   %[[AT:.*]] = arith.addi %{{.*}}, %[[I]] : index
//       CHECK:   tile.load %{{.*}}[%[[AT]]] : memref<100xf32> -> tensor<10xf32>
func.func @main(%x: tensor<100xf32>, %i: tensor<i32>) -> tensor<10xf32> {
  %r = exec.fusion "sliced" (%x, %i) : (tensor<100xf32>, tensor<i32>) -> tensor<10xf32> {
  ^bb0(%a: tensor<100xf32>, %b: tensor<i32>):
    %s = stablehlo.dynamic_slice %a, %b, sizes = [10] : (tensor<100xf32>, tensor<i32>) -> tensor<10xf32>
    %e = stablehlo.negate %s : tensor<10xf32>
    exec.yield %e : tensor<10xf32>
  }
  return %r : tensor<10xf32>
}

// -----

/// Padding between elements: the tile is a multiple of the step, so that every tile begins alike.

// CHECK-LABEL: tile.kernel @dilated
//       CHECK:   tile.load %{{.*}} -> tensor<[[HALF:.*]]xf32>
//       CHECK:   tile.view
//       CHECK:   arith.remui
module attributes {exec.target = #exec.target<units = 4, min_parallel_items = 1, cpu = <vector_bytes = 4>>} {
func.func @main(%x: tensor<500xf32>) -> tensor<999xf32> {
  %r = exec.fusion "dilated" (%x) : (tensor<500xf32>) -> tensor<999xf32> {
  ^bb0(%a: tensor<500xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.pad %a, %zero, low = [0], high = [0], interior = [1] : (tensor<500xf32>, tensor<f32>) -> tensor<999xf32>
    exec.yield %s : tensor<999xf32>
  }
  return %r : tensor<999xf32>
}
}

// -----

/// Fusions that differ only in their locations share a kernel; a result may overwrite an input in one launch and not in
/// another. A different constant needs a kernel of its own.

// CHECK-LABEL: func @layers
//       CHECK:   %[[FIRST:.*]] = exec.launch @multiply(%{{.*}}, %[[X:.*]]) {aliases
//       CHECK:   %[[SECOND:.*]] = exec.launch @multiply(%[[FIRST]], %[[FIRST]]) {exec.cost
//       CHECK:   exec.launch @multiply_0(%[[SECOND]], %[[X]])
//       CHECK: tile.kernel @multiply grid
//   CHECK-NOT: tile.kernel
//       CHECK: tile.kernel @multiply_0 grid
//   CHECK-NOT: tile.kernel
module attributes {exec.target = #exec.target<units = 2, cpu = <vector_bytes = 32, l1_bytes = 32768>>} {
func.func @layers(%w: tensor<64xf32>, %x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = exec.fusion "multiply" (%w, %x) {reason = "first"} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
    %two = stablehlo.constant dense<2.0> : tensor<64xf32>
    %c = stablehlo.multiply %a, %b : tensor<64xf32>
    %d = stablehlo.multiply %c, %two : tensor<64xf32>
    exec.yield %d : tensor<64xf32>
  }
  %1 = exec.fusion "multiply" (%0, %0) {reason = "second"} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
    %two = stablehlo.constant dense<2.0> : tensor<64xf32>
    %c = stablehlo.multiply %a, %b : tensor<64xf32>
    %d = stablehlo.multiply %c, %two : tensor<64xf32>
    exec.yield %d : tensor<64xf32>
  }
  %2 = exec.fusion "multiply" (%1, %x) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
    %three = stablehlo.constant dense<3.0> : tensor<64xf32>
    %c = stablehlo.multiply %a, %b : tensor<64xf32>
    %d = stablehlo.multiply %c, %three : tensor<64xf32>
    exec.yield %d : tensor<64xf32>
  }
  return %2 : tensor<64xf32>
}
}
