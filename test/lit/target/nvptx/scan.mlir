// RUN: tilewright-opt %s --nvptx-print-code="level=nvvm chip=sm_90a" -o /dev/null | FileCheck %s

/// A prefix sum over registers and lanes: in log2(32) steps, each lane combines its total with that of the lane 1, 2, 4, 8
/// and 16 positions earlier, if there is one, then adds the sum of all earlier lanes to its own prefixes.

// CHECK-LABEL: llvm.func @lanes(
//       CHECK:   %[[E0:.*]] = llvm.extractelement %[[TILE:.*]][%{{.*}}] : vector<2xi32>
//       CHECK:   %[[E1:.*]] = llvm.extractelement %[[TILE]][%{{.*}}] : vector<2xi32>
//       CHECK:   %[[PREFIX1:.*]] = lane.map(%[[E0]], %[[E1]]) : (i32, i32) -> i32 {
//       CHECK:     arith.addi
//       CHECK:   %[[TOTAL:.*]] = lane.map(%[[E0]], %[[E1]]) : (i32, i32) -> i32
//       CHECK:   %[[GOT:.*]] = nvvm.shfl.sync idx %{{.*}}, %[[TOTAL]],
//       CHECK:   %[[IS_EARLIER:.*]] = llvm.icmp "uge"
//       CHECK:   %[[SUM:.*]] = lane.map(%[[GOT]], %[[TOTAL]]) : (i32, i32) -> i32
//       CHECK:   %[[SUMS1:.*]] = llvm.select %[[IS_EARLIER]], %[[SUM]], %[[TOTAL]]
//       CHECK:   nvvm.shfl.sync idx %{{.*}}, %[[SUMS1]],
// CHECK-COUNT-3: nvvm.shfl.sync idx
//       CHECK:   %[[SUMS16:.*]] = llvm.select
//       CHECK:   %[[AHEAD:.*]] = nvvm.shfl.sync idx %{{.*}}, %[[SUMS16]],
//       CHECK:   lane.map(%[[AHEAD]], %[[E0]]) : (i32, i32) -> i32
#pairs = #sm.layout<[32 lane, 2 reg]>
sm.kernel @lanes grid [1] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<64xi32>, %out: memref<64xi32>):
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %t = tile.load %x[%c0] : memref<64xi32> -> tensor<64xi32, #pairs>
  %s = tile.scan %t init %zero : i32 dim 0 : tensor<64xi32, #pairs> -> tensor<64xi32, #pairs> {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    tile.yield %c : i32
  }
  tile.store %s, %out[%c0] : tensor<64xi32, #pairs>, memref<64xi32>
}

/// Warps exchange their totals through shared memory.

// CHECK-LABEL: llvm.func @warps(
//       CHECK:   %[[ELEMENT:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
//       CHECK:   %[[WARP:.*]] = llvm.udiv
//       CHECK:   llvm.store %[[ELEMENT]], %{{.*}} : i32, !llvm.ptr<3>
//       CHECK:   nvvm.barrier
//       CHECK:   %[[TOTAL0:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> i32
//       CHECK:   %[[TOTAL1:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> i32
//       CHECK:   %[[IS_AFTER:.*]] = llvm.icmp "ugt" %[[WARP]],
//       CHECK:   %[[SUM:.*]] = lane.map(%[[TOTAL0]], %[[ELEMENT]]) : (i32, i32) -> i32
//       CHECK:   llvm.select %[[IS_AFTER]], %[[SUM]], %[[ELEMENT]]
#warps = #sm.layout<[2 warp] [32 lane]>
sm.kernel @warps grid [1] inputs 1 warps 2 {
^bb0(%i: index, %x: memref<2x32xi32>, %out: memref<2x32xi32>):
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %t = tile.load %x[%c0, %c0] : memref<2x32xi32> -> tensor<2x32xi32, #warps>
  %s = tile.scan %t init %zero : i32 dim 0 : tensor<2x32xi32, #warps> -> tensor<2x32xi32, #warps> {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    tile.yield %c : i32
  }
  tile.store %s, %out[%c0, %c0] : tensor<2x32xi32, #warps>, memref<2x32xi32>
}
