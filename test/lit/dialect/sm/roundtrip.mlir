// RUN: tilewright-opt %s | FileCheck %s
// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s
// RUN: tilewright-opt %s --mlir-print-op-generic | tilewright-opt | FileCheck %s

// CHECK-DAG: #[[ROWS:.*]] = #sm.layout<[4 reg:4, 4 warp] [32 lane, 4 reg]>
// CHECK-DAG: #[[ROW:.*]] = #sm.layout<[4 reg, 4 warp] copies [32 lane]>
// CHECK-DAG: #[[SWIZZLED:.*]] = #sm.layout<[64 offset:64] [64 offset] xor [offset 6:3 to offset 3]>
// CHECK-DAG: #[[PADDED:.*]] = #sm.layout<[64 offset:64] [64 offset] pad [64, 8]>

#rows = #sm.layout<[4 reg:4, 4 warp] [32 lane, 4 reg]>
#row = #sm.layout<[4 reg, 4 warp] copies [32 lane]>

/// What differs from a tile.kernel: warps, and a layout for each tile.

// CHECK-LABEL: sm.kernel @row_max grid [8] inputs 1 warps 4 {
//       CHECK:   %[[X:.*]] = tile.load %{{.*}} : memref<128x128xf32> -> tensor<16x128xf32, #[[ROWS]]>
//       CHECK:   %[[MAX:.*]] = tile.reduce %[[X]] {{.*}} : tensor<16x128xf32, #[[ROWS]]> -> tensor<16xf32, #[[ROW]]>
//       CHECK:   tile.view %[[MAX]] {{.*}} : tensor<16xf32, #[[ROW]]> -> tensor<16x128xf32, #[[ROWS]]>
sm.kernel @row_max grid [8] inputs 1 warps 4 {
^bb0(%i: index, %x: memref<128x128xf32>, %out: memref<128x128xf32>):
  %zero = arith.constant 0 : index
  %low = arith.constant 0xFF800000 : f32
  %t = tile.load %x[%i, %zero] : memref<128x128xf32> -> tensor<16x128xf32, #rows>
  %max = tile.reduce %t init %low : f32 dims [1] : tensor<16x128xf32, #rows> -> tensor<16xf32, #row> {
  ^bb0(%a: f32, %b: f32):
    %m = arith.maximumf %a, %b : f32
    tile.yield %m : f32
  }
  %b = tile.view %max affine_map<(i, j) -> (i)> : tensor<16xf32, #row> -> tensor<16x128xf32, #rows>
  tile.store %b, %out[%i, %zero] : tensor<16x128xf32, #rows>, memref<128x128xf32>
}

// CHECK-LABEL: sm.kernel @cluster grid [] inputs 0 warps 8 cluster [2, 1, 1]
sm.kernel @cluster grid [] inputs 0 warps 8 cluster [2, 1, 1] attributes {why = "a test"} {
}

/// Layouts of memory may be swizzled or padded; both print as they are written.

// CHECK-LABEL: func @attributes
//  CHECK-SAME:   {layouts = [#[[SWIZZLED]], #[[PADDED]]]}
func.func @attributes() attributes {layouts = [
    #sm.layout<[64 offset:64] [64 offset] xor [offset 6:3 to offset 3]>,
    #sm.layout<[64 offset:64] [64 offset] pad [64, 8]>]} {
  return
}

/// A layout may cover more than its tile: 1000 elements are held as 1024.

// CHECK-LABEL: func @convert
//       CHECK:   sm.convert %{{.*}} : tensor<1000xf32, #{{.*}}> -> tensor<1000xf32, #{{.*}}>
func.func @convert(%x: tensor<1000xf32, #sm.layout<[32 lane, 32 reg]>>) -> tensor<1000xf32, #sm.layout<[32 reg, 32 lane]>> {
  %y = sm.convert %x : tensor<1000xf32, #sm.layout<[32 lane, 32 reg]>> -> tensor<1000xf32, #sm.layout<[32 reg, 32 lane]>>
  return %y : tensor<1000xf32, #sm.layout<[32 reg, 32 lane]>>
}

/// A view that moves elements between threads.

// CHECK-LABEL: func @reverse
//       CHECK:   sm.convert %{{.*}} map #{{.*}} : tensor<32xf32, #{{.*}}> -> tensor<16xf32, #{{.*}}>
func.func @reverse(%x: tensor<32xf32, #sm.layout<[32 lane]>>) -> tensor<16xf32, #sm.layout<[16 lane] copies [2 lane:16]>> {
  %y = sm.convert %x map affine_map<(i) -> (-i + 15)> : tensor<32xf32, #sm.layout<[32 lane]>> -> tensor<16xf32, #sm.layout<[16 lane] copies [2 lane:16]>>
  return %y : tensor<16xf32, #sm.layout<[16 lane] copies [2 lane:16]>>
}
