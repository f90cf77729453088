// RUN: tilewright-opt %s --simplify-inline --distribute-split --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --simplify-inline --distribute-split --split-input-file --remark-policy=all \
// RUN:   --remarks-filter=distribute --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

/// What an op needs whole is gathered before it, and a remark says which op and why.

//      REMARK: remarks.mlir:[[@LINE+8]]:{{.*}}Missed{{.*}}Reason="its operand is sharded along dimension 0, which it sorts"{{.*}}Remark="stablehlo.sort is replicated on each of 4 devices"
// CHECK-LABEL: module @sorted
//       CHECK:   "stablehlo.all_gather"
//       CHECK:   "stablehlo.sort"({{.*}}) {{.*}}
//       CHECK:   (tensor<8x6xf32>) -> tensor<8x6xf32>
module @sorted attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}) -> tensor<8x6xf32> {
    %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    return %0 : tensor<8x6xf32>
  }
}

// -----

/// 4 shards of 24 elements are not rows of 4, but 2 shards are.

//      REMARK: Passed{{.*}}Reason="its operand is sharded along dimension 0, and a dimension of size 6 is not divisible by 4"{{.*}}"stablehlo.reshape gathers its operand"
// CHECK-LABEL: module @uneven
module @uneven attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>}) -> tensor<6x4xf32> {
    %0 = stablehlo.reshape %x : (tensor<24xf32>) -> tensor<6x4xf32>
    return %0 : tensor<6x4xf32>
  }
}

// -----

/// Nobody has said how this one is computed in pieces.

//      REMARK: Missed{{.*}}Reason="its operand is sharded along dimension 0, and the op has no sharding rule"{{.*}}"stablehlo.custom_call is replicated on each of 4 devices"
// CHECK-LABEL: module @unknown
module @unknown attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>}) -> tensor<8xf32> {
    %0 = stablehlo.custom_call @something(%x) : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

/// Weights that lie on the devices of the batch are gathered where they are used.

//      REMARK: Passed{{.*}}Reason="its operand 1 is sharded along dimension 0, by axes that also shard another dimension of the op"{{.*}}"stablehlo.dot_general gathers its operand 1"
// CHECK-LABEL: module @weights_on_the_batch
//       CHECK:   stablehlo.dot_general {{.*}} : (tensor<16x12xf32>, tensor<12x8xf32>)
module @weights_on_the_batch attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<64x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>},
                         %w: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}) -> tensor<64x8xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x12xf32>, tensor<12x8xf32>) -> tensor<64x8xf32>
    return %0 : tensor<64x8xf32>
  }
}

// -----

/// Nothing is gathered for a call that only annotates.

//  REMARK-NOT: custom_call
// CHECK-LABEL: module @wishes
//       CHECK:   func.func public @main(%[[X:.*]]: tensor<2xf32> {{.*}})
//       CHECK:   %[[A:.*]] = stablehlo.custom_call @Sharding(%[[X]]) : (tensor<2xf32>) -> tensor<2xf32>
//       CHECK:   return %[[A]] : tensor<2xf32>
module @wishes attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>}) -> tensor<8xf32> {
    %0 = stablehlo.custom_call @Sharding(%x) : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
