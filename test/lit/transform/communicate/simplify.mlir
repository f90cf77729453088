// RUN: tilewright-opt %s --communicate-simplify --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --communicate-simplify --split-input-file --remark-policy=all --remarks-filter=communicate \
// RUN:   --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

/// A sum of sums is summed once, also along a chain.

// CHECK-LABEL: func @reassociate
//  CHECK-SAME:   (%[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}, %[[C:.*]]: {{.*}})
//       CHECK:   %[[AB:.*]] = stablehlo.add %[[A]], %[[B]]
//       CHECK:   %[[ABC:.*]] = stablehlo.subtract %[[AB]], %[[C]]
//       CHECK:   %[[R:.*]] = "stablehlo.all_reduce"(%[[ABC]])
//       CHECK:   return %[[R]]
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @reassociate(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<f32>, %rhs: tensor<f32>):
    %both = stablehlo.add %lhs, %rhs : tensor<f32>
    stablehlo.return %both : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = "stablehlo.all_reduce"(%b) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<f32>, %rhs: tensor<f32>):
    %both = stablehlo.add %lhs, %rhs : tensor<f32>
    stablehlo.return %both : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = stablehlo.add %0, %1 : tensor<8xf32>
  %3 = "stablehlo.all_reduce"(%c) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<f32>, %rhs: tensor<f32>):
    %both = stablehlo.add %lhs, %rhs : tensor<f32>
    stablehlo.return %both : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %4 = stablehlo.subtract %2, %3 : tensor<8xf32>
  return %4 : tensor<8xf32>
}
}

// -----

/// Not if a sum has another use, or if the reductions do not distribute over the op.

// CHECK-LABEL: func @negative_reassociate
// CHECK-COUNT-4: "stablehlo.all_reduce"
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @negative_reassociate(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<f32>, %rhs: tensor<f32>):
    %both = stablehlo.add %lhs, %rhs : tensor<f32>
    stablehlo.return %both : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = "stablehlo.all_reduce"(%b) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<f32>, %rhs: tensor<f32>):
    %both = stablehlo.add %lhs, %rhs : tensor<f32>
    stablehlo.return %both : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = stablehlo.add %0, %1 : tensor<8xf32>
  %3 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<f32>, %rhs: tensor<f32>):
    %both = stablehlo.maximum %lhs, %rhs : tensor<f32>
    stablehlo.return %both : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %4 = "stablehlo.all_reduce"(%b) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<f32>, %rhs: tensor<f32>):
    %both = stablehlo.maximum %lhs, %rhs : tensor<f32>
    stablehlo.return %both : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %5 = stablehlo.add %3, %4 : tensor<8xf32>
  return %0, %2, %5 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
}

// -----

/// The second of two equal collectives, and one that nothing uses, are erased; also in a branch.

// CHECK-LABEL: func @duplicates
//       CHECK:   %[[R:.*]] = "stablehlo.all_gather"
//   CHECK-NOT:   "stablehlo.all_
//       CHECK:   "stablehlo.if"
//       CHECK:     stablehlo.return %[[R]]
//       CHECK:   return %[[R]], %[[R]]
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @duplicates(%a: tensor<8xf32>, %p: tensor<i1>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> : (tensor<8xf32>) -> tensor<16xf32>
  %1 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> : (tensor<8xf32>) -> tensor<16xf32>
  %2 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<f32>, %rhs: tensor<f32>):
    %both = stablehlo.add %lhs, %rhs : tensor<f32>
    stablehlo.return %both : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = "stablehlo.if"(%p) ({
    %4 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> : (tensor<8xf32>) -> tensor<16xf32>
    stablehlo.return %4 : tensor<16xf32>
  }, {
    %5 = stablehlo.negate %0 : tensor<16xf32>
    stablehlo.return %5 : tensor<16xf32>
  }) : (tensor<i1>) -> tensor<16xf32>
  return %0, %1, %3 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}
}

// -----

/// If each rank keeps only its part of a sum, the sum is scattered. transform/distribute marks such slices.

// CHECK-LABEL: func @own_part
//       CHECK:   %[[R:.*]] = "stablehlo.reduce_scatter"(%arg0) <{{{.*}}scatter_dimension = 0 : i64
//       CHECK:   return %[[R]] : tensor<4xf32>
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @own_part(%a: tensor<8xf32>, %i: tensor<i32>) -> tensor<4xf32> {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<f32>, %rhs: tensor<f32>):
    %both = stablehlo.add %lhs, %rhs : tensor<f32>
    stablehlo.return %both : tensor<f32>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = stablehlo.dynamic_slice %0, %i, sizes = [4] {exec.own_part = 0 : i64} : (tensor<8xf32>, tensor<i32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
}

// -----

/// A sum of equal values is a product, a maximum is the value itself.

// CHECK-LABEL: func @replicated
//  CHECK-SAME:   (%[[A:.*]]: {{.*}})
//       CHECK:   %[[TWO:.*]] = stablehlo.constant dense<2.0
//       CHECK:   %[[P:.*]] = stablehlo.multiply %[[A]], %[[TWO]]
//       CHECK:   return %[[P]], %[[A]]
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @replicated(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<f32>, %rhs: tensor<f32>):
    %both = stablehlo.add %lhs, %rhs : tensor<f32>
    stablehlo.return %both : tensor<f32>
  }) {exec.replicated} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<f32>, %rhs: tensor<f32>):
    %both = stablehlo.maximum %lhs, %rhs : tensor<f32>
    stablehlo.return %both : tensor<f32>
  }) {exec.replicated} : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
}

// -----

/// Hints about the schedule are named, because nothing reads them.

//      REMARK: simplify.mlir:[[@LINE+4]]:{{.*}}Missed{{.*}}Remark="annotation _scheduling_group_id of stablehlo.all_gather is ignored"
// CHECK-LABEL: func @annotated
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @annotated(%a: tensor<8xf32>) -> tensor<16xf32> {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> {mhlo.frontend_attributes = {_scheduling_group_id = "7"}} : (tensor<8xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
}

// -----

/// A sum that converts its operands first is not a sum of sums of the narrow type, which may wrap.

// CHECK-LABEL: func @negative_promoting
//       CHECK:   %[[A:.*]] = "stablehlo.all_reduce"
//       CHECK:   %[[B:.*]] = "stablehlo.all_reduce"
//       CHECK:   stablehlo.add %[[A]], %[[B]] : tensor<8xi32>
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @negative_promoting(%a: tensor<8xi8>, %b: tensor<8xi8>) -> tensor<8xi32> {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<i32>, %rhs: tensor<i32>):
    %both = stablehlo.add %lhs, %rhs : tensor<i32>
    stablehlo.return %both : tensor<i32>
  }) : (tensor<8xi8>) -> tensor<8xi32>
  %1 = "stablehlo.all_reduce"(%b) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<i32>, %rhs: tensor<i32>):
    %both = stablehlo.add %lhs, %rhs : tensor<i32>
    stablehlo.return %both : tensor<i32>
  }) : (tensor<8xi8>) -> tensor<8xi32>
  %2 = stablehlo.add %0, %1 : tensor<8xi32>
  return %2 : tensor<8xi32>
}
}

// -----

/// Nor is it a multiple of a number in the narrow type.

// CHECK-LABEL: func @negative_promoting_replicated
//   CHECK-NOT:   stablehlo.multiply
//       CHECK:   %[[A:.*]] = "stablehlo.all_reduce"
//       CHECK:   return %[[A]]
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @negative_promoting_replicated(%a: tensor<8xi8>) -> tensor<8xi32> {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<i32>, %rhs: tensor<i32>):
    %both = stablehlo.add %lhs, %rhs : tensor<i32>
    stablehlo.return %both : tensor<i32>
  }) {exec.replicated} : (tensor<8xi8>) -> tensor<8xi32>
  return %0 : tensor<8xi32>
}
}
