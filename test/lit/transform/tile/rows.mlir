// RUN: tilewright-opt %s --tile-fusions --split-input-file | FileCheck %s

/// Rows that fit are sorted by one kernel, several at once. Indices are not read, and of the sorted keys only the first five are
/// written.

#gpu = #exec.target<units = 4, tile_elements = 8192, gpu = <shared_bytes = 232448>>
//       CHECK: exec.launch @sort(%{{.*}}) {{.*}} : (tensor<100x200xf32>) -> (tensor<100x5xf32>, tensor<100x5xi32>)
// CHECK-LABEL: tile.kernel @sort grid [13, 1] inputs 1
//       CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[X:.*]]: memref<100x200xf32>, %[[KEYS:.*]]: memref<100x5xf32>, %[[ORDER:.*]]: memref<100x5xi32>):
//       CHECK:   %[[T:.*]] = tile.load %[[X]]{{.*}} in_bounds [false, true] : memref<100x200xf32> -> tensor<8x200xf32>
//       CHECK:   %[[I:.*]] = tile.iota %{{.*}} dim 1 : tensor<8x200xi32>
//       CHECK:   %[[S:.*]]:2 = tile.sort %[[T]], %[[I]] dim 1 : tensor<8x200xf32>, tensor<8x200xi32>
//       CHECK:   tile.store %[[S]]#0, %[[KEYS]]{{.*}} in_bounds [false, false]
//       CHECK:   tile.store %[[S]]#1, %[[ORDER]]
module attributes {exec.target = #gpu} {
func.func @main(%x: tensor<100x200xf32>) -> (tensor<100x5xf32>, tensor<100x5xi32>) {
  %r:2 = exec.fusion "sort" (%x) : (tensor<100x200xf32>) -> (tensor<100x5xf32>, tensor<100x5xi32>) {
  ^bb0(%a: tensor<100x200xf32>):
    %i = stablehlo.iota dim = 1 : tensor<100x200xi32>
    %s:2 = "stablehlo.sort"(%a, %i) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>, %j: tensor<i32>, %k: tensor<i32>):
      %0 = stablehlo.compare GT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %0 : tensor<i1>
    }) : (tensor<100x200xf32>, tensor<100x200xi32>) -> (tensor<100x200xf32>, tensor<100x200xi32>)
    %1 = stablehlo.slice %s#0 [0:100, 0:5] : (tensor<100x200xf32>) -> tensor<100x5xf32>
    %2 = stablehlo.slice %s#1 [0:100, 0:5] : (tensor<100x200xi32>) -> tensor<100x5xi32>
    exec.yield %1, %2 : tensor<100x5xf32>, tensor<100x5xi32>
  }
  return %r#0, %r#1 : tensor<100x5xf32>, tensor<100x5xi32>
}
}

// -----

/// A longer row: chunks, then two levels of merges, each after a search for where the chunks begin.

#gpu = #exec.target<units = 4, tile_elements = 8192, gpu = <shared_bytes = 232448>>
// CHECK-LABEL: tile.kernel @sort grid [1, 3] inputs 1
//  CHECK-SAME:   warps = 16
//       CHECK:   %[[COUNT:.*]] = arith.minsi
//       CHECK:   tile.sort %{{.*}} count %[[COUNT]] dim 1 : tensor<1x8192xi32> -> tensor<1x8192xi32>
// CHECK-LABEL: tile.kernel @sort_splits grid [1, 1] inputs 1
//       CHECK:   scf.for %{{.*}} = %c0 to %c14 step %c1
//       CHECK:     tile.gather
//       CHECK:     tile.gather
//       CHECK:     tile.map
// CHECK-LABEL: tile.kernel @sort_merge grid [1, 3] inputs 2
//       CHECK:   %[[T:.*]] = tile.gather %{{.*}} -> tensor<1x8192xi32>
//       CHECK:   tile.sort %[[T]] count %{{.*}} merge %{{.*}} dim 1 : tensor<1x8192xi32> -> tensor<1x8192xi32>
// CHECK-LABEL: tile.kernel @sort_splits_0
// CHECK-LABEL: tile.kernel @sort_merge_1
module attributes {exec.target = #gpu} {
func.func @main(%x: tensor<20000xi32>) -> tensor<20000xi32> {
  %r = exec.fusion "sort" (%x) : (tensor<20000xi32>) -> tensor<20000xi32> {
  ^bb0(%a: tensor<20000xi32>):
    %s = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%p: tensor<i32>, %q: tensor<i32>):
      %0 = stablehlo.compare LT, %p, %q, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %0 : tensor<i1>
    }) : (tensor<20000xi32>) -> tensor<20000xi32>
    exec.yield %s : tensor<20000xi32>
  }
  return %r : tensor<20000xi32>
}
}

// -----

/// A running sum of long rows: a loop with the last sum of each chunk.

#gpu = #exec.target<units = 4, tile_elements = 8192, gpu = <>>
// CHECK-LABEL: tile.kernel @scan grid [8, 1] inputs 1
//       CHECK:   %[[ZERO:.*]] = arith.constant 0.0
//       CHECK:   scf.for %{{.*}} = %c0 to %c16 step %c1 iter_args(%[[SUM:.*]] = %[[ZERO]]) -> (f32)
//       CHECK:     %[[T:.*]] = tile.load %{{.*}} in_bounds [true, true] : memref<8x65536xf32> -> tensor<1x4096xf32>
//       CHECK:     %[[S:.*]] = tile.scan %[[T]] init %[[SUM]] : f32 dim 1 : tensor<1x4096xf32>
//       CHECK:     tile.store %[[S]]
//       CHECK:     %[[LAST:.*]] = tile.view %[[S]] affine_map<() -> (0, 4095)>
//       CHECK:     %[[NEXT:.*]] = tensor.extract %[[LAST]][]
//       CHECK:     scf.yield %[[NEXT]] : f32
module attributes {exec.target = #gpu} {
func.func @main(%x: tensor<8x65536xf32>) -> tensor<8x65536xf32> {
  %r = exec.fusion "scan" (%x) : (tensor<8x65536xf32>) -> tensor<8x65536xf32> {
  ^bb0(%a: tensor<8x65536xf32>):
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %s = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 65536>, padding = dense<[[0, 0], [65535, 0]]> : tensor<2x2xi64>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %0 = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %0 : tensor<f32>
    }) : (tensor<8x65536xf32>, tensor<f32>) -> tensor<8x65536xf32>
    exec.yield %s : tensor<8x65536xf32>
  }
  return %r : tensor<8x65536xf32>
}
}

// -----

/// A constant that is scanned or sorted is copied out of the fusion, because the kernel reads it from memory.

#gpu = #exec.target<units = 4, tile_elements = 8192, gpu = <shared_bytes = 232448>>
// CHECK-LABEL: func.func @scan_of_a_constant
//       CHECK:   %[[THREES:.*]] = stablehlo.constant dense<3> : tensor<2x17xi32>
//       CHECK:   exec.launch @scan(%[[THREES]]) {{.*}} : (tensor<2x17xi32>) -> tensor<2x17xi32>
//       CHECK:   %[[FIVES:.*]] = stablehlo.constant dense<5.000000e+00> : tensor<9xf64>
//       CHECK:   exec.launch @sort(%[[FIVES]]) {{.*}} : (tensor<9xf64>) -> tensor<9xf64>
module attributes {exec.target = #gpu} {
func.func @scan_of_a_constant() -> (tensor<2x17xi32>, tensor<9xf64>) {
  %r = exec.fusion "scan" () : () -> tensor<2x17xi32> {
    %a = stablehlo.constant dense<3> : tensor<2x17xi32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %s = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 17>, padding = dense<[[0, 0], [0, 16]]> : tensor<2x2xi64>}> ({
    ^bb0(%p: tensor<i32>, %q: tensor<i32>):
      %0 = stablehlo.xor %p, %q : tensor<i32>
      stablehlo.return %0 : tensor<i32>
    }) : (tensor<2x17xi32>, tensor<i32>) -> tensor<2x17xi32>
    exec.yield %s : tensor<2x17xi32>
  }
  %t = exec.fusion "sort" () : () -> tensor<9xf64> {
    %a = stablehlo.constant dense<5.0> : tensor<9xf64>
    %s = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%p: tensor<f64>, %q: tensor<f64>):
      %0 = stablehlo.compare LT, %p, %q, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %0 : tensor<i1>
    }) : (tensor<9xf64>) -> tensor<9xf64>
    exec.yield %s : tensor<9xf64>
  }
  return %r, %t : tensor<2x17xi32>, tensor<9xf64>
}
}

// -----

/// A window that is no scan is not tiled, nor is a scan with an initial value that only the program's input has.

// CHECK-LABEL: func @main
//   CHECK-NOT:   exec.launch
//       CHECK:   "stablehlo.reduce_window"
//       CHECK:   "stablehlo.reduce_window"
module attributes {exec.target = #exec.target<gpu = <>>} {
func.func @main(%x: tensor<8xf32>, %z: tensor<f32>) -> (tensor<6xf32>, tensor<8xf32>) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %r = exec.fusion "window" (%x) : (tensor<8xf32>) -> tensor<6xf32> {
  ^bb0(%a: tensor<8xf32>):
    %i = stablehlo.constant dense<0.0> : tensor<f32>
    %s = "stablehlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 3>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %0 = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %0 : tensor<f32>
    }) : (tensor<8xf32>, tensor<f32>) -> tensor<6xf32>
    exec.yield %s : tensor<6xf32>
  }
  %t = exec.fusion "scan" (%x, %z) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>, %i: tensor<f32>):
    %s = "stablehlo.reduce_window"(%a, %i) <{window_dimensions = array<i64: 8>, padding = dense<[[7, 0]]> : tensor<1x2xi64>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %0 = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %0 : tensor<f32>
    }) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    exec.yield %s : tensor<8xf32>
  }
  return %r, %t : tensor<6xf32>, tensor<8xf32>
}
}
