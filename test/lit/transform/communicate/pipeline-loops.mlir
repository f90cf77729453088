// RUN: tilewright-opt %s --communicate-pipeline-loops --split-input-file | FileCheck %s

/// The weights of the next layer are gathered while a layer is computed.

// CHECK-LABEL: func @gather
//  CHECK-SAME:   (%[[W:.*]]: {{.*}}, %[[X:.*]]: {{.*}})
//       CHECK:   stablehlo.dynamic_slice %[[W]]
//       CHECK:   %[[FIRST:.*]] = "stablehlo.all_gather"
//       CHECK:   stablehlo.while({{.*}}, %[[NOW:.*]] = %[[FIRST]])
//       CHECK:     do {
//       CHECK:     %[[I:.*]] = stablehlo.add
//       CHECK:     %[[S:.*]] = stablehlo.dynamic_slice %[[W]], %[[I]]
//       CHECK:     %[[T:.*]] = stablehlo.reshape %[[S]]
//       CHECK:     %[[NEXT:.*]] = "stablehlo.all_gather"(%[[T]])
//       CHECK:     stablehlo.multiply %{{.*}}, %[[NOW]]
//       CHECK:     stablehlo.return %{{.*}}, %{{.*}}, %[[NEXT]]
//   CHECK-NOT:   "stablehlo.all_gather"
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @gather(%w: tensor<8x8xf32>, %x: tensor<16xf32>) -> tensor<16xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<16xf32> attributes {exec.trip_count = 8 : i64}
  cond {
    %n = stablehlo.constant dense<8> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %s = stablehlo.dynamic_slice %w, %i, %z, sizes = [1, 8] : (tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %t = stablehlo.reshape %s : (tensor<1x8xf32>) -> tensor<8xf32>
    %g = "stablehlo.all_gather"(%t) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> : (tensor<8xf32>) -> tensor<16xf32>
    %h = stablehlo.multiply %c, %g : tensor<16xf32>
    stablehlo.return %j, %h : tensor<i32>, tensor<16xf32>
  }
  return %r#1 : tensor<16xf32>
}
}

// -----

/// A gather of a computed value stays in its iteration, and so do those of short loops.

// CHECK-LABEL: func @negative_computed
//   CHECK-NOT:   "stablehlo.all_gather"
//       CHECK:   stablehlo.while
//       CHECK:     "stablehlo.all_gather"
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @negative_computed(%x: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<8xf32> attributes {exec.trip_count = 8 : i64}
  cond {
    %n = stablehlo.constant dense<8> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %g = "stablehlo.all_gather"(%c) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> : (tensor<8xf32>) -> tensor<16xf32>
    %h = stablehlo.slice %g [4:12] : (tensor<16xf32>) -> tensor<8xf32>
    stablehlo.return %j, %h : tensor<i32>, tensor<8xf32>
  }
  return %r#1 : tensor<8xf32>
}
}

// -----

/// The gradient of a layer is summed while the next one is computed, and stored one iteration later; the last one is stored behind the
/// loop.

// CHECK-LABEL: func @scatter
//       CHECK:   %[[ZEROS:.*]] = stablehlo.constant dense<0.0{{.*}}> : tensor<16xf32>
//       CHECK:   %[[L:.*]]:5 = stablehlo.while(%{{.*}}, %[[YS:.*]] = %{{.*}}, %{{.*}}, %[[BEFORE:.*]] = %[[ZEROS]], %[[AT:.*]] = %{{.*}})
//       CHECK:     do {
//       CHECK:     %[[R:.*]] = "stablehlo.reduce_scatter"(%[[BEFORE]])
//       CHECK:     %[[T:.*]] = stablehlo.reshape %[[R]]
//       CHECK:     %[[U:.*]] = stablehlo.dynamic_update_slice %[[YS]], %[[T]], %[[AT]]
//       CHECK:     %[[G:.*]] = stablehlo.multiply
//       CHECK:     stablehlo.return %{{.*}}, %[[U]], %[[G]], %[[G]], %{{.*}}
//       CHECK:   %[[LAST:.*]] = "stablehlo.reduce_scatter"(%[[L]]#3)
//       CHECK:   %[[LT:.*]] = stablehlo.reshape %[[LAST]]
//       CHECK:   %[[ALL:.*]] = stablehlo.dynamic_update_slice %[[L]]#1, %[[LT]], %[[L]]#4
//       CHECK:   return %[[ALL]]
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @scatter(%x: tensor<16xf32>) -> tensor<8x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<8x8xf32>
  %r:3 = stablehlo.while(%i = %zero, %ys = %zeros, %c = %x) : tensor<i32>, tensor<8x8xf32>, tensor<16xf32> attributes {exec.trip_count = 8 : i64}
  cond {
    %n = stablehlo.constant dense<8> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %g = stablehlo.multiply %c, %c : tensor<16xf32>
    %sum = "stablehlo.reduce_scatter"(%g) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<f32>, %rhs: tensor<f32>):
    %both = stablehlo.add %lhs, %rhs : tensor<f32>
    stablehlo.return %both : tensor<f32>
  }) : (tensor<16xf32>) -> tensor<8xf32>
    %t = stablehlo.reshape %sum : (tensor<8xf32>) -> tensor<1x8xf32>
    %last = stablehlo.constant dense<7> : tensor<i32>
    %at = stablehlo.subtract %last, %i : tensor<i32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %next = stablehlo.dynamic_update_slice %ys, %t, %at, %z : (tensor<8x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<8x8xf32>
    stablehlo.return %j, %next, %g : tensor<i32>, tensor<8x8xf32>, tensor<16xf32>
  }
  return %r#1 : tensor<8x8xf32>
}
}

// -----

/// Complex sums, too, are stored one iteration later. The first iteration stores zeros.

// CHECK-LABEL: func @complex
//       CHECK:   stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<8xcomplex<f32>>
//       CHECK:   stablehlo.while
//       CHECK:     "stablehlo.all_reduce"
//       CHECK:     stablehlo.return
//       CHECK:   "stablehlo.all_reduce"
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @complex(%v: tensor<8xcomplex<f32>>) -> tensor<6x8xcomplex<f32>> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %zeros = stablehlo.constant dense<(0.0, 0.0)> : tensor<6x8xcomplex<f32>>
  %r:3 = stablehlo.while(%i = %zero, %ys = %zeros, %c = %v) : tensor<i32>, tensor<6x8xcomplex<f32>>, tensor<8xcomplex<f32>> attributes {exec.trip_count = 6 : i64}
  cond {
    %n = stablehlo.constant dense<6> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %h = stablehlo.add %c, %c : tensor<8xcomplex<f32>>
    %sum = "stablehlo.all_reduce"(%h) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<complex<f32>>, %rhs: tensor<complex<f32>>):
    %both = stablehlo.add %lhs, %rhs : tensor<complex<f32>>
    stablehlo.return %both : tensor<complex<f32>>
  }) : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
    %t = stablehlo.reshape %sum : (tensor<8xcomplex<f32>>) -> tensor<1x8xcomplex<f32>>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %next = stablehlo.dynamic_update_slice %ys, %t, %i, %z : (tensor<6x8xcomplex<f32>>, tensor<1x8xcomplex<f32>>, tensor<i32>, tensor<i32>) -> tensor<6x8xcomplex<f32>>
    stablehlo.return %j, %next, %h : tensor<i32>, tensor<6x8xcomplex<f32>>, tensor<8xcomplex<f32>>
  }
  return %r#1 : tensor<6x8xcomplex<f32>>
}
}
