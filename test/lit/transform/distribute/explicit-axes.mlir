// RUN: tilewright-opt %s --simplify-inline --distribute-split --split-input-file | FileCheck %s

/// With explicit axes JAX constrains the scalars in the body of a reduction. They do not hide that it adds.

// CHECK-LABEL: module @constrained_body
//       CHECK:   %[[S:.*]] = stablehlo.reduce({{.*}} -> tensor<f32>
//   CHECK-NOT:   sdy.sharding_constraint
//       CHECK:   "stablehlo.all_reduce"(%[[S]])
module @constrained_body attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<f32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %zero) across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
     reducer(%a: tensor<f32>, %b: tensor<f32>) {
      %1 = stablehlo.add %a, %b : tensor<f32>
      %2 = sdy.sharding_constraint %1 <@mesh, []> : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }
    return %0 : tensor<f32>
  }
}

// -----

/// A body that is copied to merge the results of devices keeps no constraint.

// CHECK-LABEL: module @merged
//   CHECK-NOT:   sdy.sharding_constraint
//       CHECK:   return
module @merged attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<f32>, tensor<i32>) {
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %i = stablehlo.iota dim = 0 : tensor<8xi32>
    %0:2 = stablehlo.reduce(%x init: %low), (%i init: %zero) across dimensions = [0] : (tensor<8xf32>, tensor<8xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
     reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
      %1 = stablehlo.compare GT, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = sdy.sharding_constraint %1 <@mesh, []> : tensor<i1>
      %3 = stablehlo.select %2, %a, %c : tensor<i1>, tensor<f32>
      %4 = stablehlo.select %2, %b, %d : tensor<i1>, tensor<i32>
      stablehlo.return %3, %4 : tensor<f32>, tensor<i32>
    }
    return %0#0, %0#1 : tensor<f32>, tensor<i32>
  }
}
