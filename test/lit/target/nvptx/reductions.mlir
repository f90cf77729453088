// RUN: tilewright-opt %s --nvptx-print-code="level=nvvm chip=sm_90a" -o /dev/null | FileCheck %s

/// A sum over registers, lanes and warps: a tree in the thread, a butterfly of shuffles, and one float for each warp in
/// shared memory, which all threads read after a barrier.

// CHECK-LABEL: llvm.func @sum(
//       CHECK:   %[[INIT:.*]] = lane.map() : () -> f32
//       CHECK:   llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
//       CHECK:   %[[LEFT:.*]] = lane.map(%{{.*}}, %{{.*}}) : (f32, f32) -> f32 {
//       CHECK:     arith.addf
//       CHECK:   %[[RIGHT:.*]] = lane.map(%{{.*}}, %{{.*}}) : (f32, f32) -> f32
//       CHECK:   %[[THREAD_SUM:.*]] = lane.map(%[[LEFT]], %[[RIGHT]]) : (f32, f32) -> f32
// CHECK-COUNT-5: nvvm.shfl.sync bfly
//       CHECK:   %[[WARP_SUM:.*]] = lane.map(%{{.*}}, %{{.*}}) : (f32, f32) -> f32
//       CHECK:   %[[LANE:.*]] = llvm.and
//       CHECK:   %[[IS_FIRST:.*]] = llvm.icmp "eq" %[[LANE]]
//       CHECK:   llvm.mlir.addressof @tilewright_shared : !llvm.ptr<3>
//       CHECK:   %[[WORD:.*]] = llvm.bitcast %[[WARP_SUM]] : f32 to i32
//       CHECK:   "@$0 st.shared.b32 [$1], $2;", {{.*}} %[[IS_FIRST]], %{{.*}}, %[[WORD]] :
//       CHECK:   nvvm.barrier
//       CHECK:   %[[WARP0:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> f32
//       CHECK:   %[[WARP1:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> f32
//       CHECK:   %[[SUM:.*]] = lane.map(%[[WARP0]], %[[WARP1]]) : (f32, f32) -> f32
//       CHECK:   lane.map(%[[INIT]], %[[SUM]]) : (f32, f32) -> f32
#tile = #sm.layout<[2 warp, 32 lane, 4 reg]>
#sum = #sm.layout<copies [32 lane, 2 warp]>
sm.kernel @sum grid [1] inputs 1 warps 2 {
^bb0(%i: index, %x: memref<256xf32>, %out: memref<f32>):
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %t = tile.load %x[%c0] : memref<256xf32> -> tensor<256xf32, #tile>
  %s = tile.reduce %t init %zero : f32 dims [0] : tensor<256xf32, #tile> -> tensor<f32, #sum> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
  tile.store %s, %out[] : tensor<f32, #sum>, memref<f32>
}

/// The tile has 3 elements and the layout 4. The neutral element of the maximum replaces the element outside of the tile.

// CHECK-LABEL: llvm.func @neutral(
//       CHECK:   %[[LOW:.*]] = llvm.mlir.constant(0xFF800000 : f32)
//       CHECK:   "@$1 ld.global.b32 $0, [$2];"
//       CHECK:   %[[IS_INSIDE:.*]] = llvm.icmp "slt"
//       CHECK:   %[[VALUE:.*]] = llvm.select %[[IS_INSIDE]], %{{.*}}, %[[LOW]] : i1, f32
//       CHECK:   nvvm.shfl.sync bfly
//       CHECK:   %[[PAIR:.*]] = lane.map(%[[VALUE]], %{{.*}}) : (f32, f32) -> f32
//       CHECK:   nvvm.shfl.sync bfly
//       CHECK:   lane.map(%[[PAIR]], %{{.*}}) : (f32, f32) -> f32
//   CHECK-NOT:   nvvm.shfl.sync
#four = #sm.layout<[4 lane] copies [8 lane:4]>
#max = #sm.layout<copies [32 lane]>
sm.kernel @neutral grid [1] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<3xf32>, %out: memref<f32>):
  %c0 = arith.constant 0 : index
  %low = arith.constant 0xFF800000 : f32
  %t = tile.load %x[%c0] : memref<3xf32> -> tensor<3xf32, #four>
  %s = tile.reduce %t init %low : f32 dims [0] : tensor<3xf32, #four> -> tensor<f32, #max> {
  ^bb0(%a: f32, %b: f32):
    %c = arith.maximumf %a, %b : f32
    tile.yield %c : f32
  }
  tile.store %s, %out[] : tensor<f32, #max>, memref<f32>
}

/// The combiner is not known to be commutative and has no known neutral element. So a flag that the element is in the tile
/// is shuffled beside it, and both lanes combine with the value of the lower lane first.

// CHECK-LABEL: llvm.func @flag(
//       CHECK:   %[[MINE:.*]] = llvm.inline_asm {{.*}} "@$1 ld.global.b32 $0, [$2];"
//       CHECK:   %[[IS_INSIDE:.*]] = llvm.icmp "slt"
//       CHECK:   %[[OTHER:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[MINE]],
//       CHECK:   %[[FLAG:.*]] = llvm.zext %[[IS_INSIDE]] : i1 to i32
//       CHECK:   %[[OTHER_FLAG:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[FLAG]],
//       CHECK:   %[[OTHER_IS_INSIDE:.*]] = llvm.trunc %[[OTHER_FLAG]] : i32 to i1
//       CHECK:   %[[IS_UPPER:.*]] = llvm.icmp "ne"
//       CHECK:   %[[FIRST:.*]] = llvm.select %[[IS_UPPER]], %[[OTHER]], %[[MINE]]
//       CHECK:   %[[SECOND:.*]] = llvm.select %[[IS_UPPER]], %[[MINE]], %[[OTHER]]
//       CHECK:   %[[FIRST_ON:.*]] = llvm.select %[[IS_UPPER]], %[[OTHER_IS_INSIDE]], %[[IS_INSIDE]]
//       CHECK:   %[[SECOND_ON:.*]] = llvm.select %[[IS_UPPER]], %[[IS_INSIDE]], %[[OTHER_IS_INSIDE]]
//       CHECK:   %[[BOTH:.*]] = lane.map(%[[FIRST]], %[[SECOND]]) : (i32, i32) -> i32
//       CHECK:   %[[RIGHT:.*]] = llvm.select %[[SECOND_ON]], %[[BOTH]], %[[FIRST]]
//       CHECK:   llvm.select %[[FIRST_ON]], %[[RIGHT]], %[[SECOND]]
#two = #sm.layout<[2 lane] copies [16 lane:2]>
sm.kernel @flag grid [1] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<1xi32>, %out: memref<i32>):
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %t = tile.load %x[%c0] : memref<1xi32> -> tensor<1xi32, #two>
  %s = tile.reduce %t init %zero : i32 dims [0] : tensor<1xi32, #two> -> tensor<i32, #max> {
  ^bb0(%a: i32, %b: i32):
    %bit = arith.trunci %b : i32 to i1
    %c = arith.select %bit, %b, %a : i32
    tile.yield %c : i32
  }
  tile.store %s, %out[] : tensor<i32, #max>, memref<i32>
}
