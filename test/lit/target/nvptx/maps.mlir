// RUN: not tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_90a" -o /dev/null 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t

/// A map is one `lane.map` with the registers of the tile as its applications. A broadcast gives all registers of a row
/// the same value, so the map of it is computed once for each row.

// CHECK-LABEL: llvm.func @map(
//       CHECK:   %[[ROW0:.*]] = llvm.extractelement %[[ROWS:.*]][%{{.*}}] : vector<2xf32>
//       CHECK:   %[[ROW1:.*]] = llvm.extractelement %[[ROWS]][%{{.*}}] : vector<2xf32>
//       CHECK:   %[[MADE:.*]]:2 = lane.map(%[[ROW0]], %[[ROW1]]) : (f32, f32) -> (f32, f32) {
//  CHECK-NEXT:   ^bb0(%[[ELEMENT:.*]]: f32):
//  CHECK-NEXT:     %[[EXP:.*]] = math.exp %[[ELEMENT]] : f32
//  CHECK-NEXT:     lane.yield %[[EXP]] : f32
//       CHECK:   %[[LEFT:.*]] = llvm.insertelement %[[MADE]]#0
//       CHECK:   llvm.insertelement %[[MADE]]#0, %[[LEFT]]
//       CHECK:   llvm.store
//       CHECK:   %[[LEFT:.*]] = llvm.insertelement %[[MADE]]#1
//       CHECK:   llvm.insertelement %[[MADE]]#1, %[[LEFT]]
//       CHECK:   llvm.store
#row = #sm.layout<[2 reg] copies [32 lane]>
#tile = #sm.layout<[2 reg:2] [32 lane, 2 reg]>
sm.kernel @map grid [1] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<2xf32>, %out: memref<2x64xf32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] : memref<2xf32> -> tensor<2xf32, #row>
  %v = tile.view %t affine_map<(i, j) -> (i)> : tensor<2xf32, #row> -> tensor<2x64xf32, #tile>
  %r = tile.map(%v) : (tensor<2x64xf32, #tile>) -> tensor<2x64xf32, #tile> {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    tile.yield %b : f32
  }
  tile.store %r, %out[%c0, %c0] : tensor<2x64xf32, #tile>, memref<2x64xf32>
}

/// An iota adds the index of the thread's first element and a constant for each register to the offset.

// CHECK-LABEL: llvm.func @iota(
//   CHECK-DAG:   %[[ZERO:.*]] = llvm.mlir.constant(0 : i32)
//   CHECK-DAG:   %[[ONE:.*]] = llvm.mlir.constant(1 : i32)
//       CHECK:   %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
//       CHECK:   %[[INDEX:.*]] = llvm.mul %[[THREAD]],
//       CHECK:   %[[OFFSET:.*]] = llvm.trunc %{{.*}} : i64 to i32
//       CHECK:   %[[SCALED:.*]] = llvm.mul %[[INDEX]], %[[ONE]]
//       CHECK:   %[[FIRST:.*]] = llvm.add %[[OFFSET]], %[[SCALED]]
//       CHECK:   %[[R0:.*]] = llvm.add %[[FIRST]], %[[ZERO]]
//       CHECK:   %[[R1:.*]] = llvm.add %[[FIRST]], %[[ONE]]
//       CHECK:   llvm.insertelement %[[R0]]
//       CHECK:   llvm.insertelement %[[R1]]
#pairs = #sm.layout<[32 lane, 2 reg]>
sm.kernel @iota grid [4] inputs 0 warps 1 {
^bb0(%i: index, %out: memref<256xi32>):
  %o = affine.apply affine_map<(i) -> (i * 64)>(%i)
  %t = tile.iota %o dim 0 : tensor<64xi32, #pairs>
  tile.store %t, %out[%o] : tensor<64xi32, #pairs>, memref<256xi32>
}

/// A scalar that all threads compute is a `lane.map` with one application.

// CHECK-LABEL: llvm.func @scalar(
//       CHECK:   %[[A:.*]] = llvm.load %arg0
//       CHECK:   %[[B:.*]] = lane.map(%[[A]]) : (f32) -> f32 {
//       CHECK:     math.sqrt
//       CHECK:   %[[WORD:.*]] = llvm.bitcast %[[B]] : f32 to i32
//       CHECK:   "@$0 st.global.b32 [$1], $2;", {{.*}} %[[WORD]] :
sm.kernel @scalar grid [4] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<f32>, %out: memref<4xf32>):
  %t = tile.load %x[] : memref<f32> -> tensor<f32, #sm.layout<copies [32 lane]>>
  %a = tensor.extract %t[] : tensor<f32, #sm.layout<copies [32 lane]>>
  %b = math.sqrt %a : f32
  %r = tensor.from_elements %b : tensor<1xf32, #sm.layout<[] copies [32 lane]>>
  tile.store %r, %out[%i] : tensor<1xf32, #sm.layout<[] copies [32 lane]>>, memref<4xf32>
}

// -----

/// A scalar must be the same in all threads, but elements of a tile are in different threads.

// ERROR: E4051 target: while compiling kernel element: 'tensor.extract' at {{.*}} extracts an element at an index, but only tiles of rank 0 are supported
#pairs = #sm.layout<[32 lane, 2 reg]>
sm.kernel @element grid [1] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<64xf32>, %out: memref<64xf32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] : memref<64xf32> -> tensor<64xf32, #pairs>
  %a = tensor.extract %t[%c0] : tensor<64xf32, #pairs>
}
