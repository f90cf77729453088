// RUN: tilewright-opt %s --nvptx-print-code="level=nvvm chip=sm_90a" -o /dev/null | FileCheck %s

/// Keys and their indices go to shared memory. One loop runs all stages of the network: its level, and the bit of the
/// index that differs between the elements that it compares, except in the first stage of a level, which compares element
/// i of a block with element i from its end. The other input is read at the indices afterwards.

// CHECK-LABEL: llvm.func @argsort(
//       CHECK:   llvm.store %{{.*}}, %{{.*}} : {{.*}}, !llvm.ptr<3>
//       CHECK:   nvvm.barrier
//       CHECK:   llvm.br ^[[STAGE:.*]](%{{.*}}, %{{.*}} : i32, i32)
//       CHECK: ^[[STAGE]](%[[LEVEL:.*]]: i32, %[[BIT:.*]]: i32):
//       CHECK:   %[[DISTANCE:.*]] = llvm.shl %{{.*}}, %[[BIT]] : i32
//       CHECK:   %[[ABOVE:.*]] = llvm.add %[[BIT]],
//       CHECK:   %[[IS_FIRST:.*]] = llvm.icmp "eq" %[[ABOVE]], %[[LEVEL]]
//       CHECK:   %[[MASK:.*]] = llvm.select %[[IS_FIRST]], %{{.*}}, %[[DISTANCE]]
//       CHECK:   %[[HIGH:.*]] = llvm.xor %[[LOW:.*]], %[[MASK]] : i32
//       CHECK:   lane.map(%[[B:[^,]*]], %[[A:[^,]*]], %{{[^,]*}}, %{{[^,]*}}, %[[A]], %[[B]], {{.*}} -> (i1, i1)
//       CHECK:   @$0 st.shared.b32
//       CHECK:   nvvm.barrier
//       CHECK:   llvm.cond_br %{{.*}}, ^[[AFTER:.*]], ^[[STAGE]](%{{.*}}, %{{.*}} : i32, i32)
//       CHECK: ^[[AFTER]]:
//       CHECK:   llvm.load %{{.*}} : !llvm.ptr<3> -> i32
//       CHECK:   nvvm.barrier
//       CHECK:   llvm.store %{{.*}}, %{{.*}} : {{.*}}, !llvm.ptr<3>
//       CHECK:   nvvm.barrier
//       CHECK:   llvm.load %{{.*}} : !llvm.ptr<3> -> f32
#l = #sm.layout<[2 warp, 32 lane]>
sm.kernel @argsort grid [1] inputs 2 warps 2 {
^bb0(%i: index, %x: memref<64xi32>, %y: memref<64xf32>, %keys: memref<64xi32>, %out: memref<64xf32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0] : memref<64xi32> -> tensor<64xi32, #l>
  %u = tile.load %y[%c0] : memref<64xf32> -> tensor<64xf32, #l>
  %s:2 = tile.sort %t, %u dim 0 : tensor<64xi32, #l>, tensor<64xf32, #l> -> tensor<64xi32, #l>, tensor<64xf32, #l> {
  ^bb0(%a: i32, %b: i32, %p: f32, %q: f32):
    %less = arith.cmpi slt, %a, %b : i32
    tile.yield %less : i1
  }
  tile.store %s#0, %keys[%c0] : tensor<64xi32, #l>, memref<64xi32>
  tile.store %s#1, %out[%c0] : tensor<64xf32, #l>, memref<64xf32>
}
