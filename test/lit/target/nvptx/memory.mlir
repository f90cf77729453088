// RUN: not tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_80" -o /dev/null 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t

/// Four contiguous floats of a thread are one access. The thread's part of the address is computed in the entry block.

// CHECK-LABEL: llvm.func @vectors(
//  CHECK-SAME:   !llvm.ptr<1> {llvm.align = 16 : i64}, %{{.*}}: !llvm.ptr<1> {llvm.align = 16 : i64})
//  CHECK-SAME:   nvvm.kernel, nvvm.reqntid = array<i32: 64>
//       CHECK:   %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
//       CHECK:   llvm.urem %[[THREAD]]
//       CHECK:   llvm.udiv %[[THREAD]]
//       CHECK:   %[[INDEX:.*]] = llvm.add
//  CHECK-NEXT:   %[[BYTES:.*]] = llvm.mul %[[INDEX]], %{{.*}} : i32
//  CHECK-NEXT:   llvm.br ^[[BODY:.*]]
//  CHECK-NEXT: ^[[BODY]]:
//       CHECK:   nvvm.read.ptx.sreg.ctaid.x
//       CHECK:   llvm.add %{{.*}}, %[[BYTES]] : i32
//       CHECK:   %[[FROM:.*]] = llvm.getelementptr %arg0
//  CHECK-NEXT:   llvm.load %[[FROM]] {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
//       CHECK:   llvm.add %{{.*}}, %[[BYTES]] : i32
//       CHECK:   %[[TO:.*]] = llvm.getelementptr %arg1
//       CHECK:   llvm.store %{{.*}}, %[[TO]] {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
//   CHECK-NOT:   llvm.store
#rows = #sm.layout<[2 warp, 32 lane, 4 reg]>
sm.kernel @vectors grid [4] inputs 1 warps 2 {
^bb0(%i: index, %x: memref<1024xf32>, %out: memref<1024xf32>):
  %o = affine.apply affine_map<(i) -> (i * 256)>(%i)
  %t = tile.load %x[%o] : memref<1024xf32> -> tensor<256xf32, #rows>
  tile.store %t, %out[%o] : tensor<256xf32, #rows>, memref<1024xf32>
}

/// The last tile is only partly in bounds, so accesses have predicates, and the padding is the value of a load that is off.

// CHECK-LABEL: llvm.func @bounds(
//       CHECK:   %[[SIZE:.*]] = llvm.mlir.constant(100 : i32)
//       CHECK:   %[[ON:.*]] = llvm.icmp "ult" %{{.*}}, %[[SIZE]]
//       CHECK:   llvm.inline_asm {{.*}} "@$2 ld.global.v2.b32 {$0, $1}, [$3];", "=r,=r,b,l,0,1" %[[ON]],
//       CHECK:   %[[ON_STORE:.*]] = llvm.icmp "ult" %{{.*}}, %[[SIZE]]
//       CHECK:   llvm.inline_asm {{.*}} "@$0 st.global.v2.b32 [$1], {$2, $3};", "b,l,r,r,~{memory}" %[[ON_STORE]],
#pairs = #sm.layout<[32 lane, 2 reg]>
sm.kernel @bounds grid [2] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<100xf32>, %out: memref<100xf32>):
  %o = affine.apply affine_map<(i) -> (i * 64)>(%i)
  %one = arith.constant 1.0 : f32
  %t = tile.load %x[%o] padding %one : f32 in_bounds [false] : memref<100xf32> -> tensor<64xf32, #pairs>
  tile.store %t, %out[%o] in_bounds [false] : tensor<64xf32, #pairs>, memref<100xf32>
}

/// All four copies of an element load, and only the first one stores.

// CHECK-LABEL: llvm.func @copies(
//       CHECK:   %[[COPY:.*]] = llvm.udiv %{{.*}} : i32
//       CHECK:   %[[IS_FIRST:.*]] = llvm.icmp "eq" %[[COPY]]
//       CHECK:   %[[STORED:.*]] = llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<1> -> i16
//       CHECK:   %[[VALUE:.*]] = lane.decode %[[STORED]] as bf16 : i16 -> f32
//       CHECK:   %[[ENCODED:.*]] = lane.encode %[[VALUE]] as bf16 : f32 -> i16
//       CHECK:   llvm.inline_asm {{.*}} "@$0 st.global.b16 [$1], $2;", {{.*}} %[[IS_FIRST]], %{{.*}}, %[[ENCODED]] :
#copies = #sm.layout<[8 lane] copies [4 lane:8]>
sm.kernel @copies grid [4] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<32xbf16>, %out: memref<32xbf16>):
  %o = affine.apply affine_map<(i) -> (i * 8)>(%i)
  %t = tile.load %x[%o] : memref<32xbf16> -> tensor<8xbf16, #copies>
  tile.store %t, %out[%o] : tensor<8xbf16, #copies>, memref<32xbf16>
}

/// Each element of a gather has its own address: its row from a tile, its column from the thread.

// CHECK-LABEL: llvm.func @gather(
//       CHECK:   %[[ROW_BYTES:.*]] = llvm.mlir.constant(128 : i64)
//       CHECK:   %[[ROWS:.*]]:2 = lane.map
//       CHECK:   %[[AT0:.*]] = llvm.mul %[[ROWS]]#0, %[[ROW_BYTES]] : i64
//       CHECK:   llvm.add %{{.*}}, %[[AT0]] : i64
//       CHECK:   llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
//       CHECK:   %[[AT1:.*]] = llvm.mul %[[ROWS]]#1, %[[ROW_BYTES]] : i64
//       CHECK:   llvm.add %{{.*}}, %[[AT1]] : i64
//       CHECK:   llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
#index = #sm.layout<[2 reg] copies [32 lane]>
#table = #sm.layout<[2 reg] [32 lane]>
sm.kernel @gather grid [1] inputs 2 warps 1 {
^bb0(%i: index, %rows: memref<2xi64>, %x: memref<20x32xf32>, %out: memref<2x32xf32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %rows[%c0] : memref<2xi64> -> tensor<2xi64, #index>
  %w = tile.map(%t) : (tensor<2xi64, #index>) -> tensor<2xindex, #index> {
  ^bb0(%a: i64):
    %b = arith.index_cast %a : i64 to index
    tile.yield %b : index
  }
  %r = tile.view %w affine_map<(i, j) -> (i)> : tensor<2xindex, #index> -> tensor<2x32xindex, #table>
  %c = tile.iota %c0 dim 1 : tensor<2x32xindex, #table>
  %g = tile.gather %x at (%r, %c)
      : memref<20x32xf32>, tensor<2x32xindex, #table>, tensor<2x32xindex, #table> -> tensor<2x32xf32, #table>
  tile.store %g, %out[%c0, %c0] : tensor<2x32xf32, #table>, memref<2x32xf32>
}

/// A window of 5 elements at a position that is read from memory: the position moves the address, and the check compares the index in the window.

// CHECK-LABEL: llvm.func @window(
//       CHECK:   %[[SIZE:.*]] = llvm.mlir.constant(5 : i32)
//       CHECK:   llvm.load %arg1
//       CHECK:   llvm.inline_asm {{.*}} "@$1 ld.global.b32
//       CHECK:   %[[ON:.*]] = llvm.icmp "ult" %{{.*}}, %[[SIZE]]
//       CHECK:   llvm.inline_asm {{.*}} "@$0 st.global.b32 [$1], $2;", {{.*}} %[[ON]],
#line = #sm.layout<[32 lane]>
#scalar = #sm.layout<copies [32 lane]>
sm.kernel @window grid [1] inputs 3 warps 1 updates [0, 2] {
^bb0(%i: index, %x: memref<5xf32>, %p: memref<index>, %old: memref<100xf32>, %out: memref<100xf32>):
  %c0 = arith.constant 0 : index
  %s = tile.load %p[] : memref<index> -> tensor<index, #scalar>
  %at = tensor.extract %s[] : tensor<index, #scalar>
  %t = tile.load %x[%c0] in_bounds [false] : memref<5xf32> -> tensor<32xf32, #line>
  tile.store %t, %out[%c0] window [5] at [%at] in_bounds [false] : tensor<32xf32, #line>, memref<100xf32>
}

/// Elements whose index is not in memory are not stored: one unsigned comparison for each dimension.

// CHECK-LABEL: llvm.func @scatter(
//       CHECK:   %[[ROWS:.*]] = llvm.mlir.constant(20 : i64)
//       CHECK:   %[[IN_ROWS:.*]] = llvm.icmp "ult" %{{.*}}, %[[ROWS]] : i64
//       CHECK:   llvm.icmp "ult"
//       CHECK:   %[[ON:.*]] = llvm.and %{{.*}}, %{{.*}} : i1
//       CHECK:   llvm.inline_asm {{.*}} "@$0 st.global.b32 [$1], $2;", {{.*}} %[[ON]],
#lanes = #sm.layout<[] [32 lane]>
sm.kernel @scatter grid [1] inputs 3 warps 1 updates [0, 2] {
^bb0(%i: index, %x: memref<1x32xf32>, %at: memref<1x32xindex>, %old: memref<20x32xf32>, %out: memref<20x32xf32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] : memref<1x32xf32> -> tensor<1x32xf32, #lanes>
  %r = tile.load %at[%c0, %c0] : memref<1x32xindex> -> tensor<1x32xindex, #lanes>
  %c = tile.iota %c0 dim 1 : tensor<1x32xindex, #lanes>
  tile.scatter %t, %out at (%r, %c) : tensor<1x32xf32, #lanes>, memref<20x32xf32>, tensor<1x32xindex, #lanes>, tensor<1x32xindex, #lanes>
}

// -----

/// A warp has 32 lanes.

// ERROR: E4051 target: while compiling kernel half_a_warp: 'sm.kernel' at {{.*}} has layouts for warps of 16 lanes, but sm_80 has 32
#half = #sm.layout<[16 lane]>
sm.kernel @half_a_warp grid [1] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<16xf32>, %out: memref<16xf32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] : memref<16xf32> -> tensor<16xf32, #half>
  tile.store %t, %out[%c0] : tensor<16xf32, #half>, memref<16xf32>
}
