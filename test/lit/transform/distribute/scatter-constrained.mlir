// RUN: tilewright-opt %s --distribute | FileCheck %s

/// Zeros with a sharding of their own, as explicit axes write them, are still zeros: each device counts its own values,
/// and the counts are terms of a sum.

// CHECK-LABEL: func.func public @main
//   CHECK-NOT:   stablehlo.all_gather
//       CHECK:   %[[R:.*]] = "stablehlo.scatter"
//   CHECK-NOT:   stablehlo.all_reduce
//       CHECK:   return %[[R]] : tensor<2xi32>
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%x: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}) {
    %c = stablehlo.constant dense<0> : tensor<2xi32>
    %0 = sdy.sharding_constraint %c <@mesh, [{}]> : tensor<2xi32>
    %1 = stablehlo.constant dense<1> : tensor<4xi32>
    %2 = "stablehlo.scatter"(%0, %x, %1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %3 = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %3 : tensor<i32>
    }) : (tensor<2xi32>, tensor<4x1xi32>, tensor<4xi32>) -> tensor<2xi32>
    return %2 : tensor<2xi32>
  }
}
