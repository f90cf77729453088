// RUN: tilewright-opt %s --tile-solve-layouts --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --tile-solve-layouts=warps=8 --split-input-file | FileCheck %s --check-prefix=EIGHT
// RUN: tilewright-opt %s --tile-solve-layouts --split-input-file --remark-policy=all --remarks-filter=tile-solve-layouts \
// RUN:   --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

/// A row to each warp, four elements to each lane: the reductions stay in their warps, and nothing is converted. 1000
/// columns are held as 1024.

// CHECK-DAG: #[[ROWS:.*]] = #sm.layout<[4 warp] [8 reg:4, 32 lane, 4 reg]>
// CHECK-DAG: #[[ROW:.*]] = #sm.layout<[4 warp] copies [32 lane]>
// CHECK-LABEL: sm.kernel @softmax grid [64] inputs 1 warps 4 {
//       CHECK:   %[[X:.*]] = tile.load {{.*}} -> tensor<4x1000xf32, #[[ROWS]]>
//       CHECK:   %[[MAX:.*]] = tile.reduce %[[X]] {{.*}} : tensor<4x1000xf32, #[[ROWS]]> -> tensor<4xf32, #[[ROW]]>
//       CHECK:   tile.view %[[MAX]] {{.*}} : tensor<4xf32, #[[ROW]]> -> tensor<4x1000xf32, #[[ROWS]]>
//   CHECK-NOT:   sm.convert
//       CHECK:   tile.store {{.*}} : tensor<4x1000xf32, #[[ROWS]]>

/// Why, and what the next best would cost.

// REMARK: 'tile.load' at {{.*}}: [4 warp] [8 reg:4, 32 lane, 4 reg], {{.*}} cycles; the best of {{.*}} other candidates, {{.*}}, takes {{.*}} more

/// With twice the warps, two share a row.

// EIGHT-LABEL: sm.kernel @softmax grid [64] inputs 1 warps 8 {
tile.kernel @softmax grid [64] inputs 1 {
^bb0(%i: index, %x: memref<256x1000xf32>, %out: memref<256x1000xf32>):
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  %low = arith.constant 0xFF800000 : f32
  %nil = arith.constant 0.0 : f32
  %r = arith.muli %i, %four : index
  %t = tile.load %x[%r, %zero] : memref<256x1000xf32> -> tensor<4x1000xf32>
  %max = tile.reduce %t init %low : f32 dims [1] : tensor<4x1000xf32> -> tensor<4xf32> {
  ^bb0(%a: f32, %b: f32):
    %m = arith.maximumf %a, %b : f32
    tile.yield %m : f32
  }
  %mb = tile.view %max affine_map<(i, j) -> (i)> : tensor<4xf32> -> tensor<4x1000xf32>
  %e = tile.map(%t, %mb) : (tensor<4x1000xf32>, tensor<4x1000xf32>) -> tensor<4x1000xf32> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.subf %a, %b : f32
    %ex = math.exp %s : f32
    tile.yield %ex : f32
  }
  %sum = tile.reduce %e init %nil : f32 dims [1] : tensor<4x1000xf32> -> tensor<4xf32> {
  ^bb0(%a: f32, %b: f32):
    %m = arith.addf %a, %b : f32
    tile.yield %m : f32
  }
  %sb = tile.view %sum affine_map<(i, j) -> (i)> : tensor<4xf32> -> tensor<4x1000xf32>
  %q = tile.map(%e, %sb) : (tensor<4x1000xf32>, tensor<4x1000xf32>) -> tensor<4x1000xf32> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.divf %a, %b : f32
    tile.yield %s : f32
  }
  tile.store %q, %out[%r, %zero] : tensor<4x1000xf32>, memref<256x1000xf32>
}

// -----

/// The scale is loaded as the rows need it: a copy in each warp.

// CHECK-DAG: #[[ROWS:.*]] = #sm.layout<[4 warp] [6 reg:4, 32 lane, 4 reg]>
// CHECK-DAG: #[[SCALE:.*]] = #sm.layout<[6 reg:4, 32 lane, 4 reg] copies [4 warp]>
// CHECK-LABEL: sm.kernel @layer_norm
//   CHECK-NOT:   sm.convert
//       CHECK:   tile.load {{.*}} -> tensor<768xf32, #[[SCALE]]>
//  CHECK-NEXT:   tile.view {{.*}} : tensor<768xf32, #[[SCALE]]> -> tensor<4x768xf32, #[[ROWS]]>
//   CHECK-NOT:   sm.convert
tile.kernel @layer_norm grid [64] inputs 3 {
^bb0(%i: index, %x: memref<256x768xf32>, %g: memref<768xf32>, %b: memref<768xf32>, %out: memref<256x768xf32>):
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  %nil = arith.constant 0.0 : f32
  %r = arith.muli %i, %four : index
  %t = tile.load %x[%r, %zero] : memref<256x768xf32> -> tensor<4x768xf32>
  %sum = tile.reduce %t init %nil : f32 dims [1] : tensor<4x768xf32> -> tensor<4xf32> {
  ^bb0(%a: f32, %c: f32):
    %m = arith.addf %a, %c : f32
    tile.yield %m : f32
  }
  %mean = tile.view %sum affine_map<(i, j) -> (i)> : tensor<4xf32> -> tensor<4x768xf32>
  %d = tile.map(%t, %mean) : (tensor<4x768xf32>, tensor<4x768xf32>) -> tensor<4x768xf32> {
  ^bb0(%a: f32, %c: f32):
    %s = arith.subf %a, %c : f32
    tile.yield %s : f32
  }
  %gt = tile.load %g[%zero] : memref<768xf32> -> tensor<768xf32>
  %gb = tile.view %gt affine_map<(i, j) -> (j)> : tensor<768xf32> -> tensor<4x768xf32>
  %q = tile.map(%d, %gb) : (tensor<4x768xf32>, tensor<4x768xf32>) -> tensor<4x768xf32> {
  ^bb0(%a: f32, %c: f32):
    %s = arith.mulf %a, %c : f32
    tile.yield %s : f32
  }
  tile.store %q, %out[%r, %zero] : tensor<4x768xf32>, memref<256x768xf32>
}

// -----

/// Both accesses in long vectors: the view costs nothing, and the tile goes through shared memory once.

// CHECK-DAG: #[[ROWS:.*]] = #sm.layout<[8 reg:4, 4 warp, 2 lane:16] [16 lane, 4 reg]>
// CHECK-DAG: #[[COLUMNS:.*]] = #sm.layout<[16 lane, 4 reg] [8 reg:4, 4 warp, 2 lane:16]>
// CHECK-LABEL: sm.kernel @transpose
//       CHECK:   %[[X:.*]] = tile.load {{.*}} -> tensor<64x64xf32, #[[ROWS]]>
//       CHECK:   %[[V:.*]] = tile.view %[[X]] {{.*}} -> tensor<64x64xf32, #[[COLUMNS]]>
//       CHECK:   %[[C:.*]] = sm.convert %[[V]] : tensor<64x64xf32, #[[COLUMNS]]> -> tensor<64x64xf32, #[[ROWS]]>
//       CHECK:   tile.store %[[C]]
tile.kernel @transpose grid [4, 4] inputs 1 {
^bb0(%i: index, %j: index, %x: memref<256x256xf32>, %out: memref<256x256xf32>):
  %t = tile.load %x[%i, %j] : memref<256x256xf32> -> tensor<64x64xf32>
  %v = tile.view %t affine_map<(i, j) -> (j, i)> : tensor<64x64xf32> -> tensor<64x64xf32>
  tile.store %v, %out[%j, %i] : tensor<64x64xf32>, memref<256x256xf32>
}

// -----

/// Columns are added up in registers first; what lanes and warps have left is copies.

// CHECK-DAG: #[[ROWS:.*]] = #sm.layout<[8 reg:4, 4 warp, 2 lane:16] [16 lane, 4 reg]>
// CHECK-DAG: #[[SUMS:.*]] = #sm.layout<[16 lane, 4 reg] copies [2 lane:16, 4 warp]>
// CHECK-LABEL: sm.kernel @column_sum
//       CHECK:   tile.reduce {{.*}} dims [0] : tensor<64x64xf32, #[[ROWS]]> -> tensor<64xf32, #[[SUMS]]>
//       CHECK:   tile.store {{.*}} : tensor<64xf32, #[[SUMS]]>
tile.kernel @column_sum grid [4] inputs 1 {
^bb0(%i: index, %x: memref<64x256xf32>, %out: memref<256xf32>):
  %zero = arith.constant 0 : index
  %nil = arith.constant 0.0 : f32
  %t = tile.load %x[%zero, %i] : memref<64x256xf32> -> tensor<64x64xf32>
  %sum = tile.reduce %t init %nil : f32 dims [0] : tensor<64x64xf32> -> tensor<64xf32> {
  ^bb0(%a: f32, %c: f32):
    %m = arith.addf %a, %c : f32
    tile.yield %m : f32
  }
  tile.store %sum, %out[%i] : tensor<64xf32>, memref<256xf32>
}

// -----

/// A sum of everything is in every thread.

// CHECK-DAG: #[[ALL:.*]] = #sm.layout<copies [32 lane, 4 warp]>
// CHECK-LABEL: sm.kernel @total
//       CHECK:   tile.reduce {{.*}} dims [0, 1] : {{.*}} -> tensor<f32, #[[ALL]]>
tile.kernel @total grid [1] inputs 1 {
^bb0(%i: index, %x: memref<64x64xf32>, %out: memref<f32>):
  %zero = arith.constant 0 : index
  %nil = arith.constant 0.0 : f32
  %t = tile.load %x[%zero, %zero] : memref<64x64xf32> -> tensor<64x64xf32>
  %sum = tile.reduce %t init %nil : f32 dims [0, 1] : tensor<64x64xf32> -> tensor<f32> {
  ^bb0(%a: f32, %c: f32):
    %m = arith.addf %a, %c : f32
    tile.yield %m : f32
  }
  tile.store %sum, %out[] : tensor<f32>, memref<f32>
}

// -----

/// Counts and single elements are computed in the layout of whoever uses them.

// CHECK-DAG: #[[ROWS:.*]] = #sm.layout<[8 reg:4, 4 warp, 2 lane:16] [16 lane, 4 reg]>
// CHECK-DAG: #[[COLUMN:.*]] = #sm.layout<[8 reg, 4 warp, 2 lane:16] copies [16 lane]>
// CHECK-DAG: #[[ALL:.*]] = #sm.layout<copies [32 lane, 4 warp]>
// CHECK-LABEL: sm.kernel @broadcast
//       CHECK:   tile.load {{.*}} -> tensor<64xf32, #[[COLUMN]]>
//       CHECK:   tile.load {{.*}} -> tensor<f32, #[[ALL]]>
//   CHECK-DAG:   tile.iota {{.*}} : tensor<64x64xi32, #[[ROWS]]>
//   CHECK-DAG:   tile.view {{.*}} : tensor<f32, #[[ALL]]> -> tensor<64x64xf32, #[[ROWS]]>
//   CHECK-NOT:   sm.convert
tile.kernel @broadcast grid [4] inputs 2 {
^bb0(%i: index, %x: memref<64xf32>, %s: memref<f32>, %out: memref<64x256xf32>):
  %zero = arith.constant 0 : index
  %t = tile.load %x[%zero] : memref<64xf32> -> tensor<64xf32>
  %u = tile.load %s[] : memref<f32> -> tensor<f32>
  %v = tile.view %t affine_map<(i, j) -> (i)> : tensor<64xf32> -> tensor<64x64xf32>
  %w = tile.view %u affine_map<(i, j) -> ()> : tensor<f32> -> tensor<64x64xf32>
  %n = tile.iota %i dim 1 : tensor<64x64xi32>
  %q = tile.map(%v, %w, %n) : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xi32>) -> tensor<64x64xf32> {
  ^bb0(%a: f32, %c: f32, %d: i32):
    %e = arith.sitofp %d : i32 to f32
    %f = arith.mulf %a, %c : f32
    %g = arith.addf %e, %f : f32
    tile.yield %g : f32
  }
  tile.store %q, %out[%zero, %i] : tensor<64x64xf32>, memref<64x256xf32>
}

// -----

/// Fragments of mma.sync, two by two warps. Operands are loaded in long vectors and converted; the bias is loaded as the accumulator needs
/// it; zeros are made in the accumulator's layout.

// CHECK-DAG: #[[ACC:.*]] = #sm.layout<[2 warp, 2 reg:16, 2 reg:2, 8 lane:4] [2 warp:2, 4 reg:4, 4 lane, 2 reg]>
// CHECK-DAG: #[[LHS:.*]] = #sm.layout<[2 warp, 2 reg:16, 2 reg:2, 8 lane:4] [4 reg:4, 4 lane, 2 reg] copies [2 warp:2]>
// CHECK-DAG: #[[RHS:.*]] = #sm.layout<[4 reg:2, 4 lane, 2 reg] [2 warp:2, 4 reg:8, 8 lane:4] copies [2 warp]>
// CHECK-DAG: #[[BIAS:.*]] = #sm.layout<[2 warp:2, 4 reg:2, 4 lane, 2 reg] copies [8 lane:4, 2 warp]>
// CHECK-LABEL: sm.kernel @dot_bias
//       CHECK:   %[[ZERO:.*]] = tile.map() : () -> tensor<64x64xf32, #[[ACC]]>
//       CHECK:   %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[C:.*]] = %[[ZERO]]) -> (tensor<64x64xf32, #[[ACC]]>)
//       CHECK:     %[[A:.*]] = sm.convert {{.*}} -> tensor<64x32xf16, #[[LHS]]>
//       CHECK:     %[[B:.*]] = sm.convert {{.*}} -> tensor<32x64xf16, #[[RHS]]>
//       CHECK:     tile.dot %[[A]], %[[B]], %[[C]]
//       CHECK:   tile.load {{.*}} -> tensor<64xf32, #[[BIAS]]>
//       CHECK:   tile.store {{.*}} : tensor<64x64xf32, #[[ACC]]>
tile.kernel @dot_bias grid [16, 8] inputs 3 {
^bb0(%i: index, %j: index, %x: memref<1024x1024xf16>, %w: memref<1024x512xf16>, %b: memref<512xf32>, %out: memref<1024x512xf32>):
  %zero = arith.constant 0 : index
  %one = arith.constant 32 : index
  %end = arith.constant 1024 : index
  %c = tile.map() : () -> tensor<64x64xf32> {
    %nil = arith.constant 0.0 : f32
    tile.yield %nil : f32
  }
  %s = scf.for %k = %zero to %end step %one iter_args(%acc = %c) -> (tensor<64x64xf32>) {
    %l = tile.load %x[%i, %k] : memref<1024x1024xf16> -> tensor<64x32xf16>
    %r = tile.load %w[%k, %j] : memref<1024x512xf16> -> tensor<32x64xf16>
    %d = tile.dot %l, %r, %acc : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %t = tile.load %b[%j] : memref<512xf32> -> tensor<64xf32>
  %u = tile.view %t affine_map<(i, j) -> (j)> : tensor<64xf32> -> tensor<64x64xf32>
  %q = tile.map(%s, %u) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%a: f32, %e: f32):
    %f = arith.addf %a, %e : f32
    tile.yield %f : f32
  }
  tile.store %q, %out[%i, %j] : tensor<64x64xf32>, memref<1024x512xf32>
}

// -----

/// No layouts can follow a reverse: the elements move.

// CHECK-DAG: #[[REVERSE:.*]] = affine_map<(d0) -> (-d0 + 1023)>
// CHECK-LABEL: sm.kernel @reverse
//       CHECK:   %[[R:.*]] = sm.convert %{{.*}} map #[[REVERSE]] : tensor<1024xf32, #{{.*}}> -> tensor<1024xf32, #{{.*}}>
//       CHECK:   tile.store %[[R]]
tile.kernel @reverse grid [1] inputs 1 {
^bb0(%i: index, %x: memref<1024xf32>, %out: memref<1024xf32>):
  %zero = arith.constant 0 : index
  %t = tile.load %x[%zero] : memref<1024xf32> -> tensor<1024xf32>
  %v = tile.view %t affine_map<(i) -> (-i + 1023)> : tensor<1024xf32> -> tensor<1024xf32>
  tile.store %v, %out[%zero] : tensor<1024xf32>, memref<1024xf32>
}

// -----

/// A kernel may say how many warps it has.

// CHECK-LABEL: sm.kernel @two grid [1] inputs 1 warps 2 {
tile.kernel @two grid [1] inputs 1 attributes {warps = 2 : i64} {
^bb0(%i: index, %x: memref<64xf32>, %out: memref<64xf32>):
  %zero = arith.constant 0 : index
  %t = tile.load %x[%zero] : memref<64xf32> -> tensor<64xf32>
  tile.store %t, %out[%zero] : tensor<64xf32>, memref<64xf32>
}
