// RUN: tilewright-opt %s --nvptx-print-code="level=nvvm chip=sm_90a" -o /dev/null | FileCheck %s

/// The first thread takes a number for the point. Each element has a word: a thread looks at the word of the point before; if that is
/// complete, it only tells its own combination, else it tells its value and looks further back.

// CHECK-LABEL: llvm.func @carried(
//       CHECK:   atom.relaxed.gpu.global.add.u32 $0, [$1+4], 1;
//       CHECK:   nvvm.barrier
//       CHECK:   ld.relaxed.gpu.global.b32
//       CHECK:   st.relaxed.gpu.global.b32
//       CHECK:   llvm.br ^[[LOOK:.*]](%{{.*}}, %{{.*}}, %{{.*}} : i64, i32, i1)
//       CHECK: ^[[LOOK]](%[[FROM:.*]]: i64, %{{.*}}: i32, %{{.*}}: i1):
//       CHECK:   ld.relaxed.gpu.global.b32 $0, [$1];", "=r,l,~{memory}" %[[FROM]]
//       CHECK:   llvm.cond_br %{{.*}}, ^[[AFTER:.*]](%{{.*}} : i32), ^[[LOOK]](
//       CHECK: ^[[AFTER]](%{{.*}}: i32):
//       CHECK:   st.relaxed.gpu.global.b32
//       CHECK:   nvvm.barrier
#row = #sm.layout<[1 reg] [32 lane]>
sm.kernel @carried grid [3] inputs 2 warps 1 updates [1, 1] {
^bb0(%p: index, %x: memref<3x32xi32>, %old: memref<128xi32>, %out: memref<3x32xi32>, %state: memref<128xi32>):
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %t = tile.load %x[%p, %c0] : memref<3x32xi32> -> tensor<1x32xi32, #row>
  %c = tile.carry %t, %state init %zero epoch 1 narrow : tensor<1x32xi32, #row>, memref<128xi32>, i32 -> tensor<1x32xi32, #row> {
  ^bb0(%a: i32, %b: i32):
    %s = arith.addi %a, %b : i32
    tile.yield %s : i32
  }
  tile.store %c, %out[%p, %c0] : tensor<1x32xi32, #row>, memref<3x32xi32>
}

/// Lanes with the same digit find each other. Each reads the counter of its digit before the first of them changes it.

// CHECK-LABEL: llvm.func @bucketed(
//       CHECK:   match.any.sync.b32
//       CHECK:   llvm.call_intrinsic "llvm.ctpop.i32"
//       CHECK:   nvvm.bar.warp.sync
//       CHECK:   @$0 st.shared.b16
//       CHECK:   nvvm.bar.warp.sync
//       CHECK:   nvvm.barrier
//       CHECK:   nvvm.shfl.sync
#bins = #sm.layout<[1 reg] [2 reg, 32 lane]>
sm.kernel @bucketed grid [1] inputs 1 warps 1 {
^bb0(%p: index, %x: memref<1x32xi32>, %out: memref<1x32xi32>, %starts: memref<1x64xi32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] : memref<1x32xi32> -> tensor<1x32xi32, #row>
  %s:2 = tile.bucket %t by %t : (tensor<1x32xi32, #row>), tensor<1x32xi32, #row> -> (tensor<1x32xi32, #row>), tensor<1x64xi32, #bins>
  tile.store %s#0, %out[%c0, %c0] : tensor<1x32xi32, #row>, memref<1x32xi32>
  tile.store %s#1, %starts[%c0, %c0] : tensor<1x64xi32, #bins>, memref<1x64xi32>
}

/// An atomic update is one instruction. Another reads, combines and writes where its index is inside.

// CHECK-LABEL: llvm.func @updated(
//       CHECK:   @$0 red.relaxed.gpu.global.max.s32 [$1], $2;
//       CHECK:   @$1 ld.global.b32
//       CHECK:   lane.map
//       CHECK:   @$0 st.global.b32
#line = #sm.layout<[32 lane]>
sm.kernel @updated grid [1] inputs 3 warps 1 updates [0, 1, 1, 2] {
^bb0(%p: index, %x: memref<32xi32>, %a0: memref<9xi32>, %b0: memref<9xi32>, %a: memref<9xi32>, %b: memref<9xi32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] : memref<32xi32> -> tensor<32xi32, #line>
  %i = tile.iota %c0 dim 0 : tensor<32xindex, #line>
  tile.update %t, %a at (%i) atomic : tensor<32xi32, #line>, memref<9xi32>, tensor<32xindex, #line> {
  ^bb0(%u: i32, %v: i32):
    %s = arith.maxsi %u, %v : i32
    tile.yield %s : i32
  }
  tile.update %t, %b at (%i) : tensor<32xi32, #line>, memref<9xi32>, tensor<32xindex, #line> {
  ^bb0(%u: i32, %v: i32):
    %s = arith.subi %v, %u : i32
    tile.yield %s : i32
  }
}
