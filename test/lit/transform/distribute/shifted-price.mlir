// RUN: tilewright-opt %s --distribute | FileCheck %s

/// Rows that travel between shards have a price: three all-to-alls and no permute send less than permutes and one
/// all-to-all of everything.

// CHECK-LABEL: func.func public @main
//   CHECK-NOT:   stablehlo.collective_permute
// CHECK-COUNT-3: "stablehlo.all_to_all"
//   CHECK-NOT:   stablehlo.collective_permute
//       CHECK:   stablehlo.concatenate
//   CHECK-NOT:   stablehlo.collective_permute
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                         %b: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                         %c: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
      -> (tensor<192x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = stablehlo.concatenate %a, %b, %c, dim = 0 : (tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<192x32xf32>
    return %0 : tensor<192x32xf32>
  }
}
