// RUN: tilewright-opt %s --distribute | FileCheck %s
// RUN: tilewright-opt %s --distribute=mesh=rows=2,columns=1 | FileCheck %s --check-prefix=MESH
// RUN: not tilewright-opt %s --distribute=mesh=x=3 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not tilewright-opt %s --distribute=mesh=x 2>&1 | FileCheck %s --check-prefix=AXIS

/// The whole stage: the mesh is chosen, calls are inlined, and each device has its shard.

//       CHECK: exec.mesh = {names = ["x"], order = array<i64>, sizes = array<i64: 2>}
// CHECK-LABEL: func.func @main
//  CHECK-SAME:   tensor<4xf32>
//   CHECK-NOT:   call
//       CHECK:   stablehlo.multiply %{{.*}} : tensor<4xf32>

//  MESH: exec.mesh = {names = ["rows", "columns"], order = array<i64>, sizes = array<i64: 2, 1>}
// RANKS: E6020 collective: the mesh x=3 has 3 ranks, but the program has 1 replicas of 2 partitions
//  AXIS: expects an axis of the mesh as name=size, such as data=2, got 'x'
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = func.call @square(%x) : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func private @square(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.multiply %x, %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
