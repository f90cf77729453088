// RUN: tilewright-opt %s --simplify-inline --distribute-split --split-input-file | FileCheck %s

/// A scan over time with a batch: the carried value, the buffer that is filled and what is read
/// are pieces, and the buffer is one from the beginning.

// CHECK-LABEL: module @scan
//       CHECK:   func.func public @main(%[[X:.*]]: tensor<5x2xf32>
//       CHECK:   stablehlo.broadcast_in_dim {{.*}} -> tensor<5x2xf32>
//       CHECK:   stablehlo.while({{.*}}) : tensor<5x2xf32>, tensor<i32>, tensor<2xf32>, tensor<5x2xf32>
//       CHECK:   stablehlo.dynamic_slice {{.*}}, sizes = [1, 2] : (tensor<5x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
//       CHECK:   stablehlo.dynamic_update_slice {{.*}} : (tensor<5x2xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<5x2xf32>
//   CHECK-NOT:   all_gather
module @scan attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<5x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"b"}]>}) -> (tensor<8xf32>, tensor<5x8xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %c = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %ys = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<5x8xf32>
    %n = stablehlo.constant dense<0> : tensor<i32>
    %0:4 = stablehlo.while(%xs = %x, %i = %n, %v = %c, %out = %ys) : tensor<5x8xf32>, tensor<i32>, tensor<8xf32>, tensor<5x8xf32>
    cond {
      %five = stablehlo.constant dense<5> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %1 = stablehlo.dynamic_slice %xs, %i, %z, sizes = [1, 8] : (tensor<5x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %2 = stablehlo.reshape %1 : (tensor<1x8xf32>) -> tensor<8xf32>
      %3 = stablehlo.add %v, %2 : tensor<8xf32>
      %4 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<8xf32>) -> tensor<1x8xf32>
      %5 = stablehlo.dynamic_update_slice %out, %4, %i, %z : (tensor<5x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<5x8xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %6 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %xs, %6, %3, %5 : tensor<5x8xf32>, tensor<i32>, tensor<8xf32>, tensor<5x8xf32>
    }
    return %0#2, %0#3 : tensor<8xf32>, tensor<5x8xf32>
  }
}

// -----

/// A value that the body does not give back divided is gathered before the loop, and whole in it.
/// A condition over what is divided is reduced over all devices, so that all turn equally often.

// CHECK-LABEL: module @not_given_back
//       CHECK:   "stablehlo.all_gather"
//       CHECK:   stablehlo.while({{.*}}) : tensor<8xf32>, tensor<2x64xf32>
//       CHECK:   cond
//       CHECK:   %[[M:.*]] = stablehlo.reduce({{.*}}) applies stablehlo.maximum {{.*}} : (tensor<2x64xf32>
//  CHECK-NEXT:   "stablehlo.all_reduce"(%[[M]])
//       CHECK:   do
//       CHECK:   "stablehlo.sort"({{.*}}
//       CHECK:   stablehlo.negate {{.*}} : tensor<2x64xf32>
module @not_given_back attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>},
                         %y: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}) -> tensor<8xf32> {
    %0:2 = stablehlo.while(%a = %x, %b = %y) : tensor<8xf32>, tensor<8x64xf32>
    cond {
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %1 = stablehlo.reduce(%b init: %low) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<8x64xf32>, tensor<f32>) -> tensor<f32>
      %2 = stablehlo.compare LT, %1, %low : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %1 = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = false}> ({
      ^bb0(%l: tensor<f32>, %r: tensor<f32>):
        %3 = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %3 : tensor<i1>
      }) : (tensor<8xf32>) -> tensor<8xf32>
      %2 = stablehlo.negate %b : tensor<8x64xf32>
      stablehlo.return %1, %2 : tensor<8xf32>, tensor<8x64xf32>
    }
    return %0#0 : tensor<8xf32>
  }
}

// -----

/// Branches agree on the division of the first that has one.

// CHECK-LABEL: module @branch
//       CHECK:   %[[R:.*]] = "stablehlo.if"
//       CHECK:   stablehlo.negate {{.*}} : tensor<2xf32>
//       CHECK:   stablehlo.broadcast_in_dim {{.*}} -> tensor<2xf32>
//       CHECK:   (tensor<i1>) -> tensor<2xf32>
//   CHECK-NOT:   all_gather
module @branch attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>}, %p: tensor<i1>) -> tensor<8xf32> {
    %0 = "stablehlo.if"(%p) ({
      %1 = stablehlo.negate %x : tensor<8xf32>
      stablehlo.return %1 : tensor<8xf32>
    }, {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %1 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<8xf32>
      stablehlo.return %1 : tensor<8xf32>
    }) : (tensor<i1>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

/// Calls are followed; a constraint divides what was whole from there on, and before it where
/// nobody else needs it.

// CHECK-LABEL: module @constraint
//       CHECK:   func.func public @main(%[[X:.*]]: tensor<8xf32>) -> (tensor<2xf32> {exec.sharding
//       CHECK:   %[[P:.*]] = stablehlo.dynamic_slice %[[X]], {{.*}} -> tensor<2xf32>
//       CHECK:   %[[T:.*]] = stablehlo.tanh %[[P]] : tensor<2xf32>
//       CHECK:   stablehlo.negate %[[T]] : tensor<2xf32>
//   CHECK-NOT:   sdy.sharding_constraint
module @constraint attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"b"}]> : tensor<8xf32>
    %2 = stablehlo.negate %1 : tensor<8xf32>
    return %2 : tensor<8xf32>
  }
  func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.tanh %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

/// A result that is asked for whole is gathered, once at the end.

// CHECK-LABEL: module @asked_whole
//       CHECK:   stablehlo.negate {{.*}} : tensor<2xf32>
//       CHECK:   "stablehlo.all_gather"
//       CHECK:   return {{.*}} : tensor<8xf32>
module @asked_whole attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["b"=4]>
  func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>})
      -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = stablehlo.negate %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

/// What begins whole and is used in pieces after the loop alone is computed in pieces: random bits
/// are made like this.

// CHECK-LABEL: module @used_in_pieces
//       CHECK:   func.func public @main(%[[X:.*]]: tensor<2x4xf32>
//   CHECK-NOT:   tensor<8x4xf32>
//       CHECK:   stablehlo.while
//   CHECK-NOT:   tensor<8x4xf32>
//       CHECK:   return
module @used_in_pieces attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %five = stablehlo.constant dense<5> : tensor<i32>
    %begin = stablehlo.iota dim = 0 : tensor<8x4xf32>
    %r:2 = stablehlo.while(%i = %zero, %v = %begin) : tensor<i32>, tensor<8x4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %n = stablehlo.add %i, %one : tensor<i32>
      %w = stablehlo.sine %v : tensor<8x4xf32>
      stablehlo.return %n, %w : tensor<i32>, tensor<8x4xf32>
    }
    %s = stablehlo.add %r#1, %x : tensor<8x4xf32>
    return %s : tensor<8x4xf32>
  }
}

// -----

/// A loop that needs all of the value in each iteration computes it whole: a piece would be
/// gathered each time.

// CHECK-LABEL: module @negative_whole_in_each_iteration
//       CHECK:   stablehlo.while
//   CHECK-NOT:   all_gather
//       CHECK:   return
module @negative_whole_in_each_iteration attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %five = stablehlo.constant dense<5> : tensor<i32>
    %begin = stablehlo.iota dim = 0 : tensor<8x4xf32>
    %r:2 = stablehlo.while(%i = %zero, %v = %begin) : tensor<i32>, tensor<8x4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %n = stablehlo.add %i, %one : tensor<i32>
      %t = stablehlo.reverse %v, dims = [0] : tensor<8x4xf32>
      %w = stablehlo.add %v, %t : tensor<8x4xf32>
      stablehlo.return %n, %w : tensor<i32>, tensor<8x4xf32>
    }
    %s = stablehlo.add %r#1, %x : tensor<8x4xf32>
    return %s : tensor<8x4xf32>
  }
}
