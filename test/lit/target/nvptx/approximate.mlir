// RUN: tilewright-opt %s --nvptx-approximate | FileCheck %s
// RUN: tilewright-opt %s --nvptx-approximate=accuracy=fast | FileCheck %s --check-prefix=FAST
// RUN: tilewright-opt %s --nvptx-approximate=accuracy=full | FileCheck %s --check-prefix=FULL
// RUN: not tilewright-opt %s --nvptx-approximate=accuracy=best 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: accuracy is 'best', expected full, balanced or fast

// FULL-NOT: fastmath
// FULL-NOT: math.exp2

/// Numerators have the scale 2^64, which the sums have, too. Reciprocals are computed once for a row.

// CHECK-LABEL: tile.kernel @softmax
//       CHECK:   %[[MAX:.*]] = tile.reduce %[[X:.*]] init
//       CHECK:   %[[M:.*]] = tile.view %[[MAX]]
//       CHECK:   %[[E:.*]] = tile.map(%[[X]], %[[M]])
//       CHECK:     arith.maxnumf
//       CHECK:     arith.minnumf
//       CHECK:     %[[P:.*]] = math.exp2 %{{.*}} fastmath<afn>
//       CHECK:     arith.shli
//       CHECK:     arith.addi
//       CHECK:   %[[SUM:.*]] = tile.reduce %[[E]] init
//       CHECK:   %[[R:.*]] = tile.map(%[[SUM]], %[[MAX]])
//       CHECK:     %[[NAN:.*]] = arith.subf %[[A:.*]], %[[A]]
//       CHECK:     %[[S:.*]] = arith.addf %{{.*}}, %[[NAN]]
//       CHECK:     arith.divf %{{.*}}, %[[S]] fastmath<arcp>
//       CHECK:   %[[I:.*]] = tile.view %[[R]]
//       CHECK:   tile.map(%[[E]], %[[I]])
//       CHECK:     arith.mulf
//   CHECK-NOT:   arith.divf

// FAST-LABEL: tile.kernel @softmax
//       FAST:   arith.subf
//       FAST:   %[[Y:.*]] = arith.mulf %{{.*}}, %{{.*}}
//       FAST:   math.exp2 %[[Y]] fastmath<afn>
//       FAST:   arith.divf %{{.*}}, %{{.*}} fastmath<arcp>
//       FAST:   arith.mulf
//   FAST-NOT:   arith.divf
tile.kernel @softmax grid [32] inputs 1 {
^bb0(%i: index, %in: memref<64x1000xf32>, %out: memref<64x1000xf32>):
  %c0 = arith.constant 0 : index
  %x = tile.load %in[%i, %c0] : memref<64x1000xf32> -> tensor<2x1000xf32>
  %low = arith.constant 0xFF800000 : f32
  %max = tile.reduce %x init %low : f32 dims [1] : tensor<2x1000xf32> -> tensor<2xf32> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.maximumf %a, %b : f32
    tile.yield %c : f32
  }
  %m = tile.view %max affine_map<(d0, d1) -> (d0)> : tensor<2xf32> -> tensor<2x1000xf32>
  %e = tile.map(%x, %m) : (tensor<2x1000xf32>, tensor<2x1000xf32>) -> tensor<2x1000xf32> {
  ^bb0(%a: f32, %b: f32):
    %d = arith.subf %a, %b : f32
    %c = math.exp %d : f32
    tile.yield %c : f32
  }
  %zero = arith.constant 0.0 : f32
  %sum = tile.reduce %e init %zero : f32 dims [1] : tensor<2x1000xf32> -> tensor<2xf32> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
  %s = tile.view %sum affine_map<(d0, d1) -> (d0)> : tensor<2xf32> -> tensor<2x1000xf32>
  %r = tile.map(%e, %s) : (tensor<2x1000xf32>, tensor<2x1000xf32>) -> tensor<2x1000xf32> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.divf %a, %b : f32
    tile.yield %c : f32
  }
  tile.store %r, %out[%i, %c0] : tensor<2x1000xf32>, memref<64x1000xf32>
}

/// The sums are a result, too: they must not have another scale.

// CHECK-LABEL: tile.kernel @negative_sums_are_a_result
//       CHECK:   %[[P:.*]] = math.exp2 %{{.*}} fastmath<afn>
//       CHECK:   %[[SCALE:.*]] = arith.bitcast %{{.*}} : i32 to f32
//       CHECK:   arith.mulf %[[P]], %[[SCALE]]
//       CHECK:   arith.divf %{{.*}}, %{{.*}} : f32

// FAST-LABEL: tile.kernel @negative_sums_are_a_result
//       FAST:   math.exp2 %{{.*}} fastmath<afn>
//       FAST:   arith.divf %{{.*}}, %{{.*}} fastmath<afn> : f32
tile.kernel @negative_sums_are_a_result grid [32] inputs 1 {
^bb0(%i: index, %in: memref<64x1000xf32>, %out: memref<64x1000xf32>, %sums: memref<64xf32>):
  %c0 = arith.constant 0 : index
  %x = tile.load %in[%i, %c0] : memref<64x1000xf32> -> tensor<2x1000xf32>
  %low = arith.constant 0xFF800000 : f32
  %max = tile.reduce %x init %low : f32 dims [1] : tensor<2x1000xf32> -> tensor<2xf32> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.maximumf %a, %b : f32
    tile.yield %c : f32
  }
  %m = tile.view %max affine_map<(d0, d1) -> (d0)> : tensor<2xf32> -> tensor<2x1000xf32>
  %e = tile.map(%x, %m) : (tensor<2x1000xf32>, tensor<2x1000xf32>) -> tensor<2x1000xf32> {
  ^bb0(%a: f32, %b: f32):
    %d = arith.subf %a, %b : f32
    %c = math.exp %d : f32
    tile.yield %c : f32
  }
  %zero = arith.constant 0.0 : f32
  %sum = tile.reduce %e init %zero : f32 dims [1] : tensor<2x1000xf32> -> tensor<2xf32> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
  %s = tile.view %sum affine_map<(d0, d1) -> (d0)> : tensor<2xf32> -> tensor<2x1000xf32>
  %r = tile.map(%e, %s) : (tensor<2x1000xf32>, tensor<2x1000xf32>) -> tensor<2x1000xf32> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.divf %a, %b : f32
    tile.yield %c : f32
  }
  tile.store %r, %out[%i, %c0] : tensor<2x1000xf32>, memref<64x1000xf32>
  tile.store %sum, %sums[%i] : tensor<2xf32>, memref<64xf32>
}

/// The subtracted numbers are not the maxima of what they are subtracted from: exponents may be positive.

// CHECK-LABEL: tile.kernel @negative_maximum_of_another_tile
//       CHECK:   %[[P:.*]] = math.exp2 %{{.*}} fastmath<afn>
//       CHECK:   %[[SCALE:.*]] = arith.bitcast %{{.*}} : i32 to f32
//       CHECK:   arith.mulf %[[P]], %[[SCALE]]
//       CHECK:   arith.divf %{{.*}}, %{{.*}} : f32
tile.kernel @negative_maximum_of_another_tile grid [32] inputs 2 {
^bb0(%i: index, %in: memref<64x1000xf32>, %other: memref<64x1000xf32>, %out: memref<64x1000xf32>):
  %c0 = arith.constant 0 : index
  %x = tile.load %in[%i, %c0] : memref<64x1000xf32> -> tensor<2x1000xf32>
  %y = tile.load %other[%i, %c0] : memref<64x1000xf32> -> tensor<2x1000xf32>
  %low = arith.constant 0xFF800000 : f32
  %max = tile.reduce %y init %low : f32 dims [1] : tensor<2x1000xf32> -> tensor<2xf32> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.maximumf %a, %b : f32
    tile.yield %c : f32
  }
  %m = tile.view %max affine_map<(d0, d1) -> (d0)> : tensor<2xf32> -> tensor<2x1000xf32>
  %e = tile.map(%x, %m) : (tensor<2x1000xf32>, tensor<2x1000xf32>) -> tensor<2x1000xf32> {
  ^bb0(%a: f32, %b: f32):
    %d = arith.subf %a, %b : f32
    %c = math.exp %d : f32
    tile.yield %c : f32
  }
  %zero = arith.constant 0.0 : f32
  %sum = tile.reduce %e init %zero : f32 dims [1] : tensor<2x1000xf32> -> tensor<2xf32> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
  %s = tile.view %sum affine_map<(d0, d1) -> (d0)> : tensor<2xf32> -> tensor<2x1000xf32>
  %r = tile.map(%e, %s) : (tensor<2x1000xf32>, tensor<2x1000xf32>) -> tensor<2x1000xf32> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.divf %a, %b : f32
    tile.yield %c : f32
  }
  tile.store %r, %out[%i, %c0] : tensor<2x1000xf32>, memref<64x1000xf32>
}
