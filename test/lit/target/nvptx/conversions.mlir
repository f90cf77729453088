// RUN: not tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_90a" -o /dev/null 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t

/// Only the numbers of registers change, so no code is generated.

// CHECK-LABEL: llvm.func @rename(
//   CHECK-NOT:   nvvm.shfl
//   CHECK-NOT:   !llvm.ptr<3>
//       CHECK:   llvm.return
#a = #sm.layout<[2 reg:2] [32 lane, 2 reg]>
#b = #sm.layout<[2 reg] [32 lane, 2 reg:2]>
sm.kernel @rename grid [1] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<2x64xf32>, %out: memref<2x64xf32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] : memref<2x64xf32> -> tensor<2x64xf32, #a>
  %c = sm.convert %t : tensor<2x64xf32, #a> -> tensor<2x64xf32, #b>
  tile.store %c, %out[%c0, %c0] : tensor<2x64xf32, #b>, memref<2x64xf32>
}

/// Elements stay in their warp, so each result register reads both source registers of one lane and selects one of them.

// CHECK-LABEL: llvm.func @shuffle(
//       CHECK:   %[[R0:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> f32
//       CHECK:   %[[R1:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK-COUNT-4: llvm.xor
//       CHECK:   nvvm.shfl.sync idx
//       CHECK:   nvvm.shfl.sync idx
//       CHECK:   llvm.select %{{.*}} : i1, f32
//       CHECK:   nvvm.shfl.sync idx
//       CHECK:   nvvm.shfl.sync idx
//       CHECK:   llvm.select %{{.*}} : i1, f32
//   CHECK-NOT:   nvvm.shfl
//       CHECK:   llvm.return
#half = #sm.layout<[2 reg, 32 lane]>
#pairs = #sm.layout<[32 lane, 2 reg]>
sm.kernel @shuffle grid [1] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<64xf32>, %out: memref<64xf32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] : memref<64xf32> -> tensor<64xf32, #half>
  %c = sm.convert %t : tensor<64xf32, #half> -> tensor<64xf32, #pairs>
  tile.store %c, %out[%c0] : tensor<64xf32, #pairs>, memref<64xf32>
}

/// Elements change their warp, so they go through shared memory, between barriers.

// CHECK-LABEL: llvm.func @memory(
//       CHECK:   %[[ELEMENT:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> f32
//       CHECK:   %[[BASE:.*]] = llvm.getelementptr inbounds
//       CHECK:   llvm.store %[[ELEMENT]], %{{.*}} : f32, !llvm.ptr<3>
//  CHECK-NEXT:   nvvm.barrier
//       CHECK:   %[[FROM:.*]] = llvm.getelementptr %[[BASE]]
//       CHECK:   %[[GOT:.*]] = llvm.load %[[FROM]] {alignment = 4 : i64} : !llvm.ptr<3> -> f32
//       CHECK:   llvm.store %[[GOT]], %{{.*}} : f32, !llvm.ptr<1>
#rows = #sm.layout<[2 warp] [32 lane]>
#columns = #sm.layout<[2 lane] [2 warp, 16 lane:2]>
sm.kernel @memory grid [1] inputs 1 warps 2 {
^bb0(%i: index, %x: memref<2x32xf32>, %out: memref<2x32xf32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] : memref<2x32xf32> -> tensor<2x32xf32, #rows>
  %c = sm.convert %t : tensor<2x32xf32, #rows> -> tensor<2x32xf32, #columns>
  tile.store %c, %out[%c0, %c0] : tensor<2x32xf32, #columns>, memref<2x32xf32>
}

/// A map that reverses the elements goes through shared memory: threads write the tile in order and read it backwards.

// CHECK-LABEL: llvm.func @reverse(
//   CHECK-DAG:   %[[MINUS_ONE:.*]] = llvm.mlir.constant(-1 : i64)
//   CHECK-DAG:   %[[LAST:.*]] = llvm.mlir.constant(31 : i64)
//       CHECK:   llvm.store %{{.*}} : f32, !llvm.ptr<3>
//  CHECK-NEXT:   nvvm.barrier
//       CHECK:   %[[BACK:.*]] = llvm.mul %{{.*}}, %[[MINUS_ONE]]
//       CHECK:   llvm.add %[[BACK]], %[[LAST]]
//       CHECK:   llvm.load %{{.*}} : !llvm.ptr<3> -> f32
#lanes = #sm.layout<[32 lane]>
sm.kernel @reverse grid [1] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<32xf32>, %out: memref<32xf32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] : memref<32xf32> -> tensor<32xf32, #lanes>
  %c = sm.convert %t map affine_map<(i) -> (31 - i)> : tensor<32xf32, #lanes> -> tensor<32xf32, #lanes>
  tile.store %c, %out[%c0] : tensor<32xf32, #lanes>, memref<32xf32>
}

// -----

/// A conversion in a role must use shuffles.

// ERROR: E4051 target: while compiling kernel role: 'sm.convert' at {{.*}} moves elements between warps of a role, which is not supported: from [4 warp] [32 lane] to [4 lane] [4 warp, 8 lane:4]
#rows = #sm.layout<[4 warp] [32 lane]>
#columns = #sm.layout<[4 lane] [4 warp, 8 lane:4]>
sm.kernel @role grid [1] inputs 1 warps 4 {
^bb0(%i: index, %x: memref<4x32xf32>, %out: memref<4x32xf32>):
  %c0 = arith.constant 0 : index
  sm.role "math" warps 4 registers 128 {
    %t = tile.load %x[%c0, %c0] : memref<4x32xf32> -> tensor<4x32xf32, #rows>
    %c = sm.convert %t : tensor<4x32xf32, #rows> -> tensor<4x32xf32, #columns>
    tile.store %c, %out[%c0, %c0] : tensor<4x32xf32, #columns>, memref<4x32xf32>
  }
}
