// RUN: tilewright-opt %s --communicate-move-out-of-loops --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --communicate-move-out-of-loops=memory=0 --split-input-file | FileCheck %s

/// Gradients are accumulated on each rank and summed once.

// CHECK-LABEL: func @accumulate
//  CHECK-SAME:   (%[[INIT:.*]]: {{.*}}, %[[X:.*]]: {{.*}})
//       CHECK:   %[[ZERO:.*]] = stablehlo.constant dense<0.0
//       CHECK:   %[[L:.*]]:2 = stablehlo.while(%{{.*}} = %{{.*}}, %[[ACC:.*]] = %[[ZERO]])
//       CHECK:     %[[G:.*]] = stablehlo.multiply
//       CHECK:     %[[N:.*]] = stablehlo.add %[[ACC]], %[[G]]
//       CHECK:     stablehlo.return %{{.*}}, %[[N]]
//       CHECK:   %[[S:.*]] = "stablehlo.all_reduce"(%[[L]]#1)
//       CHECK:   %[[R:.*]] = stablehlo.add %[[INIT]], %[[S]]
//       CHECK:   return %[[R]]
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @accumulate(%init: tensor<8xf32>, %v: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %acc = %init) : tensor<i32>, tensor<8xf32> attributes {exec.trip_count = 8 : i64}
  cond {
    %n = stablehlo.constant dense<8> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %f = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %g = stablehlo.multiply %b, %v : tensor<8xf32>
    %sum = "stablehlo.all_reduce"(%g) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<f32>, %rhs: tensor<f32>):
    %both = stablehlo.add %lhs, %rhs : tensor<f32>
    stablehlo.return %both : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
    %next = stablehlo.add %acc, %sum : tensor<8xf32>
    stablehlo.return %j, %next : tensor<i32>, tensor<8xf32>
  }
  return %r#1 : tensor<8xf32>
}
}

// -----

/// Not if the loop reads what it accumulates.

// CHECK-LABEL: func @negative_read
//       CHECK:   stablehlo.while
//       CHECK:     "stablehlo.all_reduce"
//       CHECK:     stablehlo.return %{{.*}}, %{{.*}} : tensor<i32>
//   CHECK-NOT:   "stablehlo.all_reduce"
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @negative_read(%init: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %acc = %init) : tensor<i32>, tensor<8xf32> attributes {exec.trip_count = 8 : i64}
  cond {
    %n = stablehlo.constant dense<8> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %g = stablehlo.exponential %acc : tensor<8xf32>
    %sum = "stablehlo.all_reduce"(%g) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<f32>, %rhs: tensor<f32>):
    %both = stablehlo.add %lhs, %rhs : tensor<f32>
    stablehlo.return %both : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
    %next = stablehlo.add %acc, %sum : tensor<8xf32>
    stablehlo.return %j, %next : tensor<i32>, tensor<8xf32>
  }
  return %r#1 : tensor<8xf32>
}
}

// -----

/// A gather of what does not change runs once; small sums that the loop stores are summed together.

// CHECK-LABEL: func @hoist_and_sink
//       CHECK:   "stablehlo.all_gather"
//       CHECK:   %[[L:.*]]:3 = stablehlo.while
//   CHECK-NOT:     "stablehlo.all_
//       CHECK:     stablehlo.dynamic_update_slice
//       CHECK:     stablehlo.return
//       CHECK:   %[[S:.*]] = "stablehlo.all_reduce"(%[[L]]#1)
//       CHECK:   (tensor<8x16xf32>) -> tensor<8x16xf32>
//       CHECK:   return %[[S]]
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @hoist_and_sink(%v: tensor<8xf32>) -> (tensor<8x16xf32>, tensor<16xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<8x16xf32>
  %state = stablehlo.constant dense<1.0> : tensor<16xf32>
  %r:3 = stablehlo.while(%i = %zero, %ys = %zeros, %c = %state) : tensor<i32>, tensor<8x16xf32>, tensor<16xf32> attributes {exec.trip_count = 8 : i64}
  cond {
    %n = stablehlo.constant dense<8> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %g = "stablehlo.all_gather"(%v) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> : (tensor<8xf32>) -> tensor<16xf32>
    %h = stablehlo.multiply %c, %g : tensor<16xf32>
    %t = stablehlo.reshape %h : (tensor<16xf32>) -> tensor<1x16xf32>
    %sum = "stablehlo.all_reduce"(%t) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<f32>, %rhs: tensor<f32>):
    %both = stablehlo.add %lhs, %rhs : tensor<f32>
    stablehlo.return %both : tensor<f32>
  }) : (tensor<1x16xf32>) -> tensor<1x16xf32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %next = stablehlo.dynamic_update_slice %ys, %sum, %i, %z : (tensor<8x16xf32>, tensor<1x16xf32>, tensor<i32>, tensor<i32>) -> tensor<8x16xf32>
    stablehlo.return %j, %next, %h : tensor<i32>, tensor<8x16xf32>, tensor<16xf32>
  }
  return %r#1, %r#2 : tensor<8x16xf32>, tensor<16xf32>
}
}

// -----

/// Not if the ranks store a sum at different indices: afterwards, different iterations would be added.

// CHECK-LABEL: func @negative_index_of_the_rank
//       CHECK:   stablehlo.while
//       CHECK:     "stablehlo.all_reduce"
//       CHECK:     stablehlo.dynamic_update_slice
//   CHECK-NOT:   "stablehlo.all_reduce"
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @negative_index_of_the_rank(%v: tensor<16xf32>) -> tensor<8x16xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<8x16xf32>
  %id = stablehlo.partition_id : tensor<ui32>
  %rank = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %ys = %zeros, %c = %v) : tensor<i32>, tensor<8x16xf32>, tensor<16xf32> attributes {exec.trip_count = 8 : i64}
  cond {
    %n = stablehlo.constant dense<8> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %h = stablehlo.add %c, %c : tensor<16xf32>
    %t = stablehlo.reshape %h : (tensor<16xf32>) -> tensor<1x16xf32>
    %sum = "stablehlo.all_reduce"(%t) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<f32>, %rhs: tensor<f32>):
    %both = stablehlo.add %lhs, %rhs : tensor<f32>
    stablehlo.return %both : tensor<f32>
  }) : (tensor<1x16xf32>) -> tensor<1x16xf32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<8> : tensor<i32>
    %k = stablehlo.add %i, %rank : tensor<i32>
    %at = stablehlo.remainder %k, %n : tensor<i32>
    %next = stablehlo.dynamic_update_slice %ys, %sum, %at, %z : (tensor<8x16xf32>, tensor<1x16xf32>, tensor<i32>, tensor<i32>) -> tensor<8x16xf32>
    stablehlo.return %j, %next, %h : tensor<i32>, tensor<8x16xf32>, tensor<16xf32>
  }
  return %r#1 : tensor<8x16xf32>
}
}

// -----

/// Nor if a parameter is the index: a caller may pass each rank its own.

// CHECK-LABEL: func @negative_index_of_a_parameter
//       CHECK:   stablehlo.while
//       CHECK:     "stablehlo.all_reduce"
//       CHECK:     stablehlo.dynamic_update_slice
//   CHECK-NOT:   "stablehlo.all_reduce"
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @negative_index_of_a_parameter(%v: tensor<1x16xf32>, %at: tensor<i32>) -> tensor<8x16xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<8x16xf32>
  %r:3 = stablehlo.while(%i = %zero, %ys = %zeros, %c = %v) : tensor<i32>, tensor<8x16xf32>, tensor<1x16xf32> attributes {exec.trip_count = 8 : i64}
  cond {
    %n = stablehlo.constant dense<8> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %h = stablehlo.add %c, %c : tensor<1x16xf32>
    %sum = "stablehlo.all_reduce"(%h) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<f32>, %rhs: tensor<f32>):
    %both = stablehlo.add %lhs, %rhs : tensor<f32>
    stablehlo.return %both : tensor<f32>
  }) : (tensor<1x16xf32>) -> tensor<1x16xf32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %next = stablehlo.dynamic_update_slice %ys, %sum, %at, %z : (tensor<8x16xf32>, tensor<1x16xf32>, tensor<i32>, tensor<i32>) -> tensor<8x16xf32>
    stablehlo.return %j, %next, %h : tensor<i32>, tensor<8x16xf32>, tensor<1x16xf32>
  }
  return %r#1 : tensor<8x16xf32>
}
}
