// RUN: tilewright-opt %s | FileCheck %s
// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s
// RUN: tilewright-opt %s --mlir-print-op-generic | tilewright-opt | FileCheck %s

/// The example of the manual.

// CHECK-LABEL: tile.kernel @row_max grid [128] inputs 1 {
//       CHECK: ^bb0(%[[I:.*]]: index, %[[X:.*]]: memref<128x512xf32>, %[[OUT:.*]]: memref<128xf32>):
//       CHECK:   tile.load %[[X]][%[[I]], %{{.*}}] : memref<128x512xf32> -> tensor<1x512xf32>
//       CHECK:   tile.reduce %{{.*}} init %{{.*}} : f32 dims [1] : tensor<1x512xf32> -> tensor<1xf32> {
//       CHECK:   tile.store %{{.*}}, %[[OUT]][%[[I]]] : tensor<1xf32>, memref<128xf32>
tile.kernel @row_max grid [128] inputs 1 {
^bb0(%i: index, %x: memref<128x512xf32>, %out: memref<128xf32>):
  %zero = arith.constant 0 : index
  %row = tile.load %x[%i, %zero] : memref<128x512xf32> -> tensor<1x512xf32>
  %low = arith.constant 0xFF800000 : f32
  %max = tile.reduce %row init %low : f32 dims [1] : tensor<1x512xf32> -> tensor<1xf32> {
  ^bb0(%a: f32, %b: f32):
    %m = arith.maximumf %a, %b : f32
    tile.yield %m : f32
  }
  tile.store %max, %out[%i] : tensor<1xf32>, memref<128xf32>
}

/// Masks, strides, padding; a scalar that is read from memory.

// CHECK-LABEL: tile.kernel @edges grid [2, 3] inputs 2
//       CHECK:   tensor.extract %{{.*}}[] : tensor<f32>
//       CHECK:   tile.load %{{.*}} strides [1, -1] padding %{{.*}} : f32 in_bounds [true, false]
//       CHECK:   tile.store %{{.*}} in_bounds [true, false]
tile.kernel @edges grid [2, 3] inputs 2 {
^bb0(%i: index, %j: index, %x: memref<4x40xf32>, %p: memref<f32>, %out: memref<4x40xf32>):
  %r = affine.apply affine_map<(i) -> (i * 2)>(%i)
  %c = affine.apply affine_map<(j) -> (j * 16)>(%j)
  %back = affine.apply affine_map<(j) -> (j * -16 + 39)>(%j)
  %t = tile.load %p[] : memref<f32> -> tensor<f32>
  %s = tensor.extract %t[] : tensor<f32>
  %v = tile.load %x[%r, %back] strides [1, -1] padding %s : f32 in_bounds [true, false]
      : memref<4x40xf32> -> tensor<2x16xf32>
  tile.store %v, %out[%r, %c] in_bounds [true, false] : tensor<2x16xf32>, memref<4x40xf32>
}

// CHECK-LABEL: func @values
func.func @values(%x: tensor<4x8xf32>, %y: tensor<8xf32>, %a: tensor<2x4x8xf16>,
                  %b: tensor<2x8x16xf16>, %c: tensor<2x4x16xf32>, %sa: tensor<2x4x2xf32>,
                  %sb: tensor<2x2x16xf32>, %square: tensor<4x4xf32>, %whole: memref<10x10xf32>, %o: index) {
  // The map is printed in place: `%x #map` would be read as a result of %x.
  // CHECK: tile.view %{{.*}} affine_map<(d0, d1) -> (d1, d0)> : tensor<4x8xf32> -> tensor<8x4xf32>
  %t = tile.view %x affine_map<(i, j) -> (j, i)> : tensor<4x8xf32> -> tensor<8x4xf32>
  // CHECK: tile.view %{{.*}} affine_map<(d0, d1) -> (d1)>
  %bc = tile.view %y affine_map<(i, j) -> (j)> : tensor<8xf32> -> tensor<4x8xf32>
  // CHECK: tile.map(%{{.*}}, %{{.*}}) : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xi1>) {
  %m:2 = tile.map(%x, %bc) : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xi1>) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    %l = arith.cmpf olt, %p, %q : f32
    tile.yield %s, %l : f32, i1
  }
  // CHECK: tile.map() : () -> tensor<4xf32> {
  %splat = tile.map() : () -> tensor<4xf32> {
    %one = arith.constant 1.0 : f32
    tile.yield %one : f32
  }
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x4x8xf16>, tensor<2x8x16xf16> -> tensor<2x4x16xf32>
  %d = tile.dot %a, %b, %c : tensor<2x4x8xf16>, tensor<2x8x16xf16> -> tensor<2x4x16xf32>
  // CHECK: tile.dot {{.*}} scaled(%{{.*}} : tensor<2x4x2xf32>, %{{.*}} : tensor<2x2x16xf32>)
  %e = tile.dot %a, %b, %c scaled(%sa : tensor<2x4x2xf32>, %sb : tensor<2x2x16xf32>)
      : tensor<2x4x8xf16>, tensor<2x8x16xf16> -> tensor<2x4x16xf32>
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} tf32 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %f = tile.dot %square, %square, %square tf32 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  // CHECK: tile.scan %{{.*}} init %{{.*}} : f32 dim 1 reverse : tensor<4x8xf32> -> tensor<4x8xf32>
  %zero = arith.constant 0.0 : f32
  %scan = tile.scan %x init %zero : f32 dim 1 reverse : tensor<4x8xf32> -> tensor<4x8xf32> {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    tile.yield %s : f32
  }
  // CHECK: tile.sort %{{.*}}, %{{.*}} count %{{.*}} merge %{{.*}} dim 1 : tensor<4x8xf32>, tensor<4x8xi1> -> tensor<4x8xf32>, tensor<4x8xi1> {
  %sorted:2 = tile.sort %m#0, %m#1 count %o merge %o dim 1 : tensor<4x8xf32>, tensor<4x8xi1> -> tensor<4x8xf32>, tensor<4x8xi1> {
  ^bb0(%p: f32, %q: f32, %u: i1, %v: i1):
    %l = arith.cmpf olt, %p, %q : f32
    tile.yield %l : i1
  }
  // CHECK: tile.sort %{{.*}} dim 0 : tensor<4x8xf32> -> tensor<4x8xf32> {
  %alone = tile.sort %x dim 0 : tensor<4x8xf32> -> tensor<4x8xf32> {
  ^bb0(%p: f32, %q: f32):
    %l = arith.cmpf olt, %p, %q : f32
    tile.yield %l : i1
  }
  // CHECK: tile.iota %{{.*}} dim 1 stride 2 : tensor<4x8xindex>
  %i = tile.iota %o dim 1 stride 2 : tensor<4x8xindex>
  // CHECK: tile.iota %{{.*}} dim 0 : tensor<4x8xindex>
  %j = tile.iota %o dim 0 : tensor<4x8xindex>
  // CHECK: tile.gather %{{.*}} at(%{{.*}}, %{{.*}}) : memref<10x10xf32>, tensor<4x8xindex>, tensor<4x8xindex> -> tensor<4x8xf32>
  %g = tile.gather %whole at (%i, %j)
      : memref<10x10xf32>, tensor<4x8xindex>, tensor<4x8xindex> -> tensor<4x8xf32>
  // CHECK: tile.scatter %{{.*}}, %{{.*}} at(%{{.*}}, %{{.*}}) : tensor<4x8xf32>, memref<10x10xf32>, tensor<4x8xindex>, tensor<4x8xindex>
  tile.scatter %g, %whole at (%i, %j)
      : tensor<4x8xf32>, memref<10x10xf32>, tensor<4x8xindex>, tensor<4x8xindex>
  // CHECK: tile.update %{{.*}}, %{{.*}} at(%{{.*}}, %{{.*}}) : tensor<4x8xf32>, memref<10x10xf32>, tensor<4x8xindex>, tensor<4x8xindex> {
  tile.update %g, %whole at (%i, %j)
      : tensor<4x8xf32>, memref<10x10xf32>, tensor<4x8xindex>, tensor<4x8xindex> {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    tile.yield %s : f32
  }
  // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] window [3, 7] at[%{{.*}}, %{{.*}}] in_bounds [false, false]
  tile.store %g, %whole[%o, %o] window [3, 7] at [%o, %o] in_bounds [false, false] : tensor<4x8xf32>, memref<10x10xf32>
  return
}

// CHECK: tile.kernel @updates grid [1] inputs 2 updates [0, 1] {
tile.kernel @updates grid [1] inputs 2 updates [0, 1] {
^bb0(%i: index, %x: memref<4xf32>, %old: memref<8xf32>, %out: memref<8xf32>):
  %t = tile.load %x[%i] : memref<4xf32> -> tensor<4xf32>
  tile.store %t, %out[%i] window [4] at [%i] : tensor<4xf32>, memref<8xf32>
}

// CHECK: tile.kernel @order grid [2] inputs 1 updates [0, 0] {
tile.kernel @order grid [2] inputs 1 updates [0, 0] {
^bb0(%p: index, %old: memref<40xi32>, %state: memref<40xi32>):
  %zero = arith.constant 0 : i32
  %d = tile.iota %p dim 1 : tensor<1x4xi32>
  // CHECK: tile.bucket %{{.*}} by %{{.*}} count %{{.*}} : (tensor<1x4xi32>), tensor<1x4xi32> -> (tensor<1x4xi32>), tensor<1x4xi32>
  %m:2 = tile.bucket %d by %d count %p : (tensor<1x4xi32>), tensor<1x4xi32> -> (tensor<1x4xi32>), tensor<1x4xi32>
  // CHECK: tile.take %{{.*}} at %{{.*}} : tensor<1x4xi32>, tensor<1x4xi32> -> tensor<1x4xi32>
  %t = tile.take %m#0 at %d : tensor<1x4xi32>, tensor<1x4xi32> -> tensor<1x4xi32>
  // CHECK: tile.carry %{{.*}}, %{{.*}} init %{{.*}} epoch 2 narrow : tensor<1x4xi32>, memref<40xi32>, i32 -> tensor<1x4xi32> {
  %c = tile.carry %t, %state init %zero epoch 2 narrow : tensor<1x4xi32>, memref<40xi32>, i32 -> tensor<1x4xi32> {
  ^bb0(%x: i32, %y: i32):
    %s = arith.addi %x, %y : i32
    tile.yield %s : i32
  }
  %i = tile.iota %p dim 0 : tensor<4xindex>
  %v = tile.iota %p dim 0 : tensor<4xi32>
  // CHECK: tile.update %{{.*}}, %{{.*}} at(%{{.*}}) atomic : tensor<4xi32>, memref<40xi32>, tensor<4xindex> {
  tile.update %v, %state at (%i) atomic : tensor<4xi32>, memref<40xi32>, tensor<4xindex> {
  ^bb0(%x: i32, %y: i32):
    %s = arith.addi %x, %y : i32
    tile.yield %s : i32
  }
}
