// RUN: tilewright-opt %s --distribute | FileCheck %s

/// The device that has a row of truth values gives it to the others: they combine it with false by `or`.

// CHECK-LABEL: func.func public @main
//   CHECK-NOT:   all_to_all
//   CHECK-NOT:   collective_permute
//       CHECK:   "stablehlo.all_reduce"
//       CHECK:     stablehlo.or
//   CHECK-NOT:   all_gather
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%x: tensor<2x8xi1> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<1x2xi1> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.slice %x [0:2:2, 5:7] : (tensor<2x8xi1>) -> tensor<1x2xi1>
    return %0 : tensor<1x2xi1>
  }
}
