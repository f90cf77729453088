// RUN: tilewright-opt %s --simplify-inline --distribute-split --split-input-file --verify-diagnostics | FileCheck %s

/// A summand stays one as long as nobody needs the sum: no collective, and the caller is told
/// (last_tile_dims of xla.OpSharding: 6 is UNREDUCED).

// CHECK-LABEL: module @passed_on
//       CHECK:   func.func public @main(%[[X:.*]]: tensor<2x2xf32> {{.*}}) -> (tensor<2x2xf32> {exec.sharding = "{{.*}}B\01\06"{{.*}}})
//  CHECK-NEXT:   %[[N:.*]] = stablehlo.negate %[[X]]
//  CHECK-NEXT:   return %[[N]]
module @passed_on attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%x: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
      -> (tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}], unreduced={"y"}>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {}], unreduced={"y"}>] manual_axes={"x", "y"} (%p: tensor<2x2xf32>) {
      %n = stablehlo.negate %p : tensor<2x2xf32>
      sdy.return %n : tensor<2x2xf32>
    } : (tensor<4x4xf32>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
}

// -----

/// Who needs the sum gets it, along the unreduced axis alone, and before it is computed with.

// CHECK-LABEL: module @summed
//       CHECK:   func.func public @main(%[[X:.*]]: tensor<2xf32> {exec.sharding = "{{.*}}B\01\06"{{.*}}}) -> (tensor<2xf32> {{.*}})
//       CHECK:   %[[S:.*]] = "stablehlo.all_reduce"(%[[X]]) {{.*}}replica_groups = dense<{{\[\[}}0, 1], [2, 3]]>
//       CHECK:     stablehlo.add
//       CHECK:   %[[T:.*]] = stablehlo.tanh %[[S]]
//       CHECK:   return %[[T]]
module @summed attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}], unreduced={"y"}>})
      -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.tanh %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

/// What is whole becomes summands without communication: the first along the axis has all of it.

// CHECK-LABEL: module @made
//       CHECK:   func.func public @main(%[[X:.*]]: tensor<f32>) -> (tensor<f32> {exec.sharding = "{{.*}}B\02\00\06"{{.*}}})
//       CHECK:   %[[T:.*]] = stablehlo.tanh %[[X]]
//       CHECK:   %[[P:.*]] = stablehlo.constant dense<[0, 1, 0, 1]>
//       CHECK:   %[[IS:.*]] = stablehlo.compare EQ
//       CHECK:   %[[Z:.*]] = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
//       CHECK:   %[[R:.*]] = stablehlo.select %[[IS]], %[[T]], %[[Z]]
//   CHECK-NOT:   all_
//       CHECK:   return %[[R]]
module @made attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%x: tensor<f32>) -> (tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, [], unreduced={"y"}>}) {
    %0 = stablehlo.tanh %x : tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

/// The terms of a maximum are combined by a maximum.

// CHECK-LABEL: module @maximum
//       CHECK:   "stablehlo.all_reduce"
//       CHECK:     stablehlo.maximum
module @maximum attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced=max{"x"}>})
      -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    return %x : tensor<4xf32>
  }
}

// -----

/// A sum over a sharded dimension that is wanted unreduced needs no collective: each device has its term.

// CHECK-LABEL: module @left_open
//       CHECK:   func.func public @main(%[[X:.*]]: tensor<2x4xf32> {{.*}}) -> (tensor<4xf32> {{.*}})
//   CHECK-NOT:   all_reduce
//       CHECK:   %[[S:.*]] = stablehlo.reduce(%[[X]]
//  CHECK-NEXT:   return %[[S]]
module @left_open attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
      -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{}], unreduced={"x"}> : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

// -----

/// Another use needs the sum: it is reduced for that one only.

// CHECK-LABEL: module @used_twice
//       CHECK:   %[[P:.*]] = stablehlo.reduce
//       CHECK:   %[[S:.*]] = "stablehlo.all_reduce"(%[[P]])
//       CHECK:   return %[[P]], %[[S]]
module @used_twice attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
      -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}, tensor<4xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{}], unreduced={"x"}> : tensor<4xf32>
    return %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

/// An element type without a zero has no terms.

// expected-error@below {{cannot apply sharding: its unreduced axes need numbers that have a zero, got elements of type f8E8M0FNU}}
module @negative_no_zero attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<8xf8E8M0FNU> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}) -> tensor<8xf8E8M0FNU> {
    return %x : tensor<8xf8E8M0FNU>
  }
}
