// RUN: tilewright-opt %s --tile-fusions --split-input-file | FileCheck %s

/// Two positions in one index: no box of the input has the elements, so they are gathered.

// CHECK-LABEL: tile.kernel @twice grid [1] inputs 3 {
//       CHECK:   tile.iota %{{.*}} dim 0 : tensor<10xindex>
//       CHECK:   %[[AT:.*]] = tile.map({{.*}}) : {{.*}} -> tensor<10xindex>
//       CHECK:   tile.gather %{{.*}} at(%[[AT]]) : memref<100xf32>, tensor<10xindex> -> tensor<10xf32>
//   CHECK-NOT: tile.kernel
func.func @main(%x: tensor<100xf32>, %i: tensor<i32>, %j: tensor<ui8>) -> tensor<10xf32> {
  %r = exec.fusion "twice" (%x, %i, %j) : (tensor<100xf32>, tensor<i32>, tensor<ui8>) -> tensor<10xf32> {
  ^bb0(%a: tensor<100xf32>, %b: tensor<i32>, %c: tensor<ui8>):
    %s = stablehlo.dynamic_slice %a, %b, sizes = [50] : (tensor<100xf32>, tensor<i32>) -> tensor<50xf32>
    %e = stablehlo.dynamic_slice %s, %c, sizes = [10] : (tensor<50xf32>, tensor<ui8>) -> tensor<10xf32>
    exec.yield %e : tensor<10xf32>
  }
  return %r : tensor<10xf32>
}

// -----

/// The rows of a table: one index for each row, and the column. The row's index is a conversion, a maximum and a minimum.

// CHECK-LABEL: tile.kernel @rows grid [{{.*}}] inputs 2 {
//       CHECK:   %[[COLUMN:.*]] = tile.iota %{{.*}} dim 1 : tensor<[[SHAPE:.*]]xindex>
//       CHECK:   %[[ROW:.*]] = tile.map(%{{.*}}) : (tensor<[[SHAPE]]xi32>) -> tensor<[[SHAPE]]xindex>
//       CHECK:     arith.extsi
//       CHECK:     arith.maxsi
//       CHECK:     arith.minsi
//       CHECK:   tile.gather %{{.*}} at(%[[ROW]], %[[COLUMN]]) : memref<50x64xf32>
module attributes {exec.target = #exec.target<units = 132, tile_elements = 16384, gpu = <>>} {
func.func @main(%t: tensor<50x64xf32>, %i: tensor<8x1xi32>) -> tensor<8x64xf32> {
  %r = exec.fusion "rows" (%t, %i) : (tensor<50x64xf32>, tensor<8x1xi32>) -> tensor<8x64xf32> {
  ^bb0(%a: tensor<50x64xf32>, %b: tensor<8x1xi32>):
    %g = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>, indices_are_sorted = false}> : (tensor<50x64xf32>, tensor<8x1xi32>) -> tensor<8x64xf32>
    exec.yield %g : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}
}

// -----

/// A window: the second component of an index vector is added to the coordinate in the window. The table is computed element by element.

// CHECK-LABEL: tile.kernel @window
//       CHECK:   %[[FIRST:.*]] = tile.load %{{.*}} : memref<3x2xi64> -> tensor<3x1xi64>
//       CHECK:   arith.minsi %{{.*}}, %{{.*}} : i64
//       CHECK:   arith.addi %{{.*}}, %{{.*}} : index
//       CHECK:   %[[X:.*]] = tile.gather
//       CHECK:   tile.map(%[[X]])
//       CHECK:     math.absf
func.func @main(%t: tensor<9x20xf32>, %i: tensor<3x2xi64>) -> tensor<3x4xf32> {
  %r = exec.fusion "window" (%t, %i) : (tensor<9x20xf32>, tensor<3x2xi64>) -> tensor<3x4xf32> {
  ^bb0(%a: tensor<9x20xf32>, %b: tensor<3x2xi64>):
    %n = stablehlo.abs %a : tensor<9x20xf32>
    %g = "stablehlo.gather"(%n, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false}> : (tensor<9x20xf32>, tensor<3x2xi64>) -> tensor<3x4xf32>
    exec.yield %g : tensor<3x4xf32>
  }
  return %r : tensor<3x4xf32>
}

// -----

/// A tile that is a multiple of a large step would not fit into a block.

// CHECK-LABEL: tile.kernel @far
//       CHECK:   arith.divsi
//       CHECK:   tile.gather %{{.*}} : memref<500xf32>
module attributes {exec.target = #exec.target<units = 132, tile_elements = 16384, gpu = <>>} {
func.func @main(%x: tensor<500xf32>, %z: tensor<f32>) -> tensor<9980001xf32> {
  %r = exec.fusion "far" (%x, %z) : (tensor<500xf32>, tensor<f32>) -> tensor<9980001xf32> {
  ^bb0(%a: tensor<500xf32>, %b: tensor<f32>):
    %s = stablehlo.pad %a, %b, low = [0], high = [0], interior = [19999] : (tensor<500xf32>, tensor<f32>) -> tensor<9980001xf32>
    exec.yield %s : tensor<9980001xf32>
  }
  return %r : tensor<9980001xf32>
}
}

// -----

/// A reduction is not computed for single elements: the fusion is split, and reshapes between the kernels are free.

//       CHECK:   %[[SUM:.*]] = exec.launch @reduce
//       CHECK:   %[[FLAT:.*]] = stablehlo.reshape %[[SUM]]
//       CHECK:   exec.launch @gather(%[[FLAT]]
// CHECK-LABEL: tile.kernel @reduce
// CHECK-LABEL: tile.kernel @gather
func.func @main(%x: tensor<4x5x6xf32>, %z: tensor<f32>, %i: tensor<3x1xi32>) -> tensor<3xf32> {
  %r = exec.fusion "split" (%x, %z, %i) : (tensor<4x5x6xf32>, tensor<f32>, tensor<3x1xi32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<4x5x6xf32>, %b: tensor<f32>, %c: tensor<3x1xi32>):
    %s = stablehlo.reduce(%a init: %b) applies stablehlo.add across dimensions = [1] : (tensor<4x5x6xf32>, tensor<f32>) -> tensor<4x6xf32>
    %f = stablehlo.reshape %s : (tensor<4x6xf32>) -> tensor<24xf32>
    %g = "stablehlo.gather"(%f, %c) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<24xf32>, tensor<3x1xi32>) -> tensor<3xf32>
    exec.yield %g : tensor<3xf32>
  }
  return %r : tensor<3xf32>
}
