// RUN: tilewright-opt %s --simplify-inline --distribute-split --split-input-file | FileCheck %s

/// Two partial sums are added on each device, and reduced once.

// CHECK-LABEL: module @one_reduction
//       CHECK:   %[[A:.*]] = stablehlo.dot_general
//       CHECK:   %[[B:.*]] = stablehlo.dot_general
//   CHECK-NOT:   all_reduce
//       CHECK:   %[[S:.*]] = stablehlo.add %[[A]], %[[B]] : tensor<64x64xf32>
//  CHECK-NEXT:   %[[R:.*]] = "stablehlo.all_reduce"(%[[S]])
//       CHECK:   stablehlo.tanh %[[R]]
//   CHECK-NOT:   all_reduce
module @one_reduction attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["m"=4]>
  func.func public @main(%a: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"m"}]>},
                         %b: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m"}, {}]>},
                         %c: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"m"}]>},
                         %d: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m"}, {}]>})
      -> (tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = stablehlo.dot_general %c, %d, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %2 = stablehlo.add %0, %1 : tensor<64x64xf32>
    %3 = stablehlo.tanh %2 : tensor<64x64xf32>
    return %3 : tensor<64x64xf32>
  }
}

// -----

/// A sum of which each device needs a shard is scattered.

// CHECK-LABEL: module @scattered
//       CHECK:   %[[P:.*]] = stablehlo.dot_general
//  CHECK-NEXT:   "stablehlo.reduce_scatter"(%[[P]])
//   CHECK-NOT:   all_reduce
module @scattered attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["m"=4]>
  func.func public @main(%a: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"m"}]>},
                         %b: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m"}, {}]>})
      -> (tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m"}, {}]>}) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %0 : tensor<64x64xf32>
  }
}

// -----

/// A constraint whose result is only used in shards: the sum is scattered, not reduced and sliced.

// CHECK-LABEL: module @constrained_and_sliced
//       CHECK:   reduce_scatter
//   CHECK-NOT:   all_reduce
module @constrained_and_sliced attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["m"=4]>
  func.func public @main(%a: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"m"}]>},
                         %b: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m"}, {}]>})
      -> (tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m"}, {}]>}) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{}, {}]> : tensor<64x64xf32>
    %2 = stablehlo.tanh %1 : tensor<64x64xf32>
    return %2 : tensor<64x64xf32>
  }
}

// -----

/// A sum of integers that wrap may not be widened before it is reduced, but it may be narrowed.

// CHECK-LABEL: module @wraps
//       CHECK:   %[[S:.*]] = stablehlo.reduce
//  CHECK-NEXT:   %[[R:.*]] = "stablehlo.all_reduce"(%[[S]])
//       CHECK:   stablehlo.convert %[[R]] : (tensor<64xi32>) -> tensor<64xi64>
module @wraps attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["m"=4]>
  func.func public @main(%a: tensor<64x64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"m"}, {}]>})
      -> (tensor<64xi64> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x64xi32>, tensor<i32>) -> tensor<64xi32>
    %1 = stablehlo.convert %0 : (tensor<64xi32>) -> tensor<64xi64>
    return %1 : tensor<64xi64>
  }
}

// -----

/// Weights on the axis of the batch are gathered where that is less than moving activations, and
/// their gradients are scattered.

// CHECK-LABEL: module @weights
//       CHECK:   %[[W:.*]] = "stablehlo.all_gather"(%arg1){{.*}} -> tensor<32x32xf32>
//       CHECK:   stablehlo.dot_general %arg0, %[[W]], {{.*}} : (tensor<256x32xf32>, tensor<32x32xf32>) -> tensor<256x32xf32>
//       CHECK:   stablehlo.dot_general {{.*}} -> tensor<32x32xf32>
//  CHECK-NEXT:   "stablehlo.reduce_scatter"
//       CHECK:   stablehlo.subtract {{.*}} : tensor<8x32xf32>
module @weights attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<1024x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>},
                         %w: tensor<32x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>})
      -> (tensor<32x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x32xf32>, tensor<32x32xf32>) -> tensor<1024x32xf32>
    %1 = stablehlo.tanh %0 : tensor<1024x32xf32>
    %2 = stablehlo.dot_general %x, %1, contracting_dims = [0] x [0] : (tensor<1024x32xf32>, tensor<1024x32xf32>) -> tensor<32x32xf32>
    %3 = stablehlo.subtract %w, %2 : tensor<32x32xf32>
    return %3 : tensor<32x32xf32>
  }
}

// -----

/// Terms that a loop adds up are reduced once, after the loop.

// CHECK-LABEL: module @accumulated
//       CHECK:   %[[L:.*]]:3 = stablehlo.while
//   CHECK-NOT:   all_reduce
//       CHECK:   "stablehlo.all_reduce"(%[[L]]#2)
//   CHECK-NOT:   all_reduce
module @accumulated attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<1024x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>})
      -> (tensor<32x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %start = stablehlo.constant dense<0.0> : tensor<32x32xf32>
    %0:3 = stablehlo.while(%i = %zero, %y = %x, %sum = %start) : tensor<i32>, tensor<1024x32xf32>, tensor<32x32xf32>
    cond {
      %ten = stablehlo.constant dense<10> : tensor<i32>
      %c = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %t = stablehlo.tanh %y : tensor<1024x32xf32>
      %p = stablehlo.dot_general %t, %y, contracting_dims = [0] x [0] : (tensor<1024x32xf32>, tensor<1024x32xf32>) -> tensor<32x32xf32>
      %s = stablehlo.add %sum, %p : tensor<32x32xf32>
      stablehlo.return %next, %t, %s : tensor<i32>, tensor<1024x32xf32>, tensor<32x32xf32>
    }
    return %0#2 : tensor<32x32xf32>
  }
}

// -----

/// A composite without uses: its operand is not gathered for it.

// CHECK-LABEL: module @dead_composite
//   CHECK-NOT:   "stablehlo.all_gather"
//   CHECK-NOT:   stablehlo.composite
//       CHECK:   stablehlo.negate {{.*}} : tensor<2xf32>
module @dead_composite attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>}) -> tensor<8xf32> {
    %0 = stablehlo.composite "chlo.erf" %x {decomposition = @erf} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.negate %x : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @erf(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.tanh %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

/// One use gathers a value along both axes, so the other, a roll, uses the gathered value, too: with
/// one axis less it would only need another exchange.

// CHECK-LABEL: module @gathered_for_another_use
//       CHECK:   "stablehlo.all_gather"
//   CHECK-NOT:   "stablehlo.all_gather"
//   CHECK-NOT:   collective_permute
//       CHECK:   return {{.*}} : tensor<14xf16>, tensor<4xf16>
module @gathered_for_another_use attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%a: tensor<16xf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>})
      -> (tensor<14xf16>, tensor<16xf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}) {
    %0 = stablehlo.slice %a [2:16] : (tensor<16xf16>) -> tensor<14xf16>
    %1 = stablehlo.slice %a [4:16] : (tensor<16xf16>) -> tensor<12xf16>
    %2 = stablehlo.slice %a [0:4] : (tensor<16xf16>) -> tensor<4xf16>
    %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<12xf16>, tensor<4xf16>) -> tensor<16xf16>
    return %0, %3 : tensor<14xf16>, tensor<16xf16>
  }
}
