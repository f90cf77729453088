// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(communicate-device-forms{always=true}))' --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(communicate-device-forms))' --split-input-file | FileCheck %s --check-prefix=CPU

/// The group becomes the outermost dimension; a transpose moves it where it belongs.

// CHECK-LABEL: func @gather
//       CHECK:   %[[ROW:.*]] = stablehlo.reshape %{{.*}} : (tensor<3x5xf32>) -> tensor<1x3x5xf32>
//       CHECK:   %[[ROWS:.*]] = "stablehlo.all_gather"(%[[ROW]]) <{all_gather_dim = 0
//  CHECK-SAME:     -> tensor<2x3x5xf32>
//       CHECK:   %[[MOVED:.*]] = stablehlo.transpose %[[ROWS]], dims = [1, 0, 2]
//       CHECK:   stablehlo.reshape %[[MOVED]] : (tensor<3x2x5xf32>) -> tensor<3x10xf32>
//   CPU-LABEL: func @gather
//         CPU:   "stablehlo.all_gather"(%{{.*}}) <{all_gather_dim = 1
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @gather(%a: tensor<3x5xf32>) -> tensor<3x10xf32> {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<3x5xf32>) -> tensor<3x10xf32>
  return %0 : tensor<3x10xf32>
}
}

// -----

/// A dimension behind dimensions of size 1 is the outermost one in memory; so is dimension 0.

// CHECK-LABEL: func @negative_gather
//   CHECK-NOT:   transpose
//       CHECK:   "stablehlo.all_gather"(%{{.*}}) <{all_gather_dim = 1
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @negative_gather(%a: tensor<1x5xf32>) -> tensor<1x10xf32> {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<1x5xf32>) -> tensor<1x10xf32>
  return %0 : tensor<1x10xf32>
}
}

// -----

// CHECK-LABEL: func @exchange
//       CHECK:   stablehlo.reshape %{{.*}} : (tensor<3x4xf32>) -> tensor<3x2x2xf32>
//       CHECK:   %[[ROWS:.*]] = stablehlo.transpose %{{.*}}, dims = [1, 0, 2]
//       CHECK:   "stablehlo.all_to_all"(%[[ROWS]]) <{{.*}}concat_dimension = 0 {{.*}}split_dimension = 0
//       CHECK:   stablehlo.reshape %{{.*}} : (tensor<2x3x2xf32>) -> tensor<6x2xf32>
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @exchange(%a: tensor<3x4xf32>) -> tensor<6x2xf32> {
  %0 = "stablehlo.all_to_all"(%a) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<3x4xf32>) -> tensor<6x2xf32>
  return %0 : tensor<6x2xf32>
}
}

// -----

// CHECK-LABEL: func @scatter
//       CHECK:   %[[ROWS:.*]] = stablehlo.transpose %{{.*}}, dims = [1, 0, 2] : (tensor<3x2x4xf32>)
//       CHECK:   %[[FLAT:.*]] = stablehlo.reshape %[[ROWS]] : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
//       CHECK:   "stablehlo.reduce_scatter"(%[[FLAT]]) <{{.*}}scatter_dimension = 0
//       CHECK:   stablehlo.reshape %{{.*}} : (tensor<1x12xf32>) -> tensor<3x4xf32>
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @scatter(%a: tensor<3x8xf32>) -> tensor<3x4xf32> {
  %0 = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<3x8xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
}

// -----

/// NCCL's maximum would drop a NaN: the maximum of integers that have the order of the floats keeps it.

// CHECK-LABEL: func @maximum
//       CHECK:   %[[NAN:.*]] = stablehlo.compare NE, %[[X:.*]], %[[X]]
//       CHECK:   stablehlo.bitcast_convert %[[X]] : (tensor<7xf32>) -> tensor<7xi32>
//       CHECK:   %[[KEY:.*]] = stablehlo.select %[[NAN]]
//       CHECK:   "stablehlo.all_reduce"(%[[KEY]])
//       CHECK:     stablehlo.maximum %{{.*}}, %{{.*}} : tensor<i32>
//       CHECK:   stablehlo.bitcast_convert %{{.*}} : (tensor<7xi32>) -> tensor<7xf32>
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @maximum(%a: tensor<7xf32>) -> tensor<7xf32> {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<7xf32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}
}

// -----

/// The tensors of a bucket stay together.

// CHECK-LABEL: func @booleans
//       CHECK:   %[[A:.*]] = stablehlo.convert %{{.*}} : (tensor<3xi1>) -> tensor<3xui8>
//       CHECK:   %[[B:.*]] = stablehlo.convert %{{.*}} : (tensor<2x2xi1>) -> tensor<2x2xui8>
//       CHECK:   "stablehlo.all_reduce"(%[[A]], %[[B]])
//       CHECK:     stablehlo.maximum %{{.*}}, %{{.*}} : tensor<ui8>
//       CHECK:   stablehlo.convert %{{.*}} : (tensor<3xui8>) -> tensor<3xi1>
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @booleans(%a: tensor<3xi1>, %b: tensor<2x2xi1>) -> (tensor<3xi1>, tensor<2x2xi1>) {
  %0:2 = "stablehlo.all_reduce"(%a, %b) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%x: tensor<i1>, %y: tensor<i1>):
    %s = stablehlo.or %x, %y : tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<3xi1>, tensor<2x2xi1>) -> (tensor<3xi1>, tensor<2x2xi1>)
  return %0#0, %0#1 : tensor<3xi1>, tensor<2x2xi1>
}
}

// -----

// CHECK-LABEL: func @complex
//   CHECK-DAG:   %[[RE:.*]] = stablehlo.real
//   CHECK-DAG:   %[[IM:.*]] = stablehlo.imag
//       CHECK:   %[[S:.*]]:2 = "stablehlo.all_reduce"(%[[RE]], %[[IM]])
//       CHECK:     stablehlo.add %{{.*}}, %{{.*}} : tensor<f32>
//       CHECK:   stablehlo.complex %[[S]]#0, %[[S]]#1
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @complex(%a: tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%x: tensor<complex<f32>>, %y: tensor<complex<f32>>):
    %s = stablehlo.add %x, %y : tensor<complex<f32>>
    stablehlo.return %s : tensor<complex<f32>>
  }) : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  return %0 : tensor<3xcomplex<f32>>
}
}

// -----

/// Bits of integers: all values, combined in the order of the group. A reduce_scatter exchanges only the parts.

// CHECK-LABEL: func @bits
//       CHECK:   %[[ROWS:.*]] = "stablehlo.all_gather"(%{{.*}}) {{.*}} -> tensor<2x3xi32>
//       CHECK:   %[[FIRST:.*]] = stablehlo.slice %[[ROWS]] [0:1, 0:3]
//       CHECK:   %[[ZERO:.*]] = stablehlo.reshape %[[FIRST]]
//       CHECK:   %[[SECOND:.*]] = stablehlo.slice %[[ROWS]] [1:2, 0:3]
//       CHECK:   %[[ONE:.*]] = stablehlo.reshape %[[SECOND]]
//       CHECK:   stablehlo.xor %[[ZERO]], %[[ONE]] : tensor<3xi32>
//       CHECK:   "stablehlo.all_to_all"(%{{.*}}) {{.*}} -> tensor<2x2xi32>
//   CHECK-NOT:   reduce_scatter
//       CHECK:   stablehlo.xor %{{.*}}, %{{.*}} : tensor<2xi32>
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @bits(%a: tensor<3xi32>, %b: tensor<4xi32>) -> (tensor<3xi32>, tensor<2xi32>) {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.xor %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<3xi32>) -> tensor<3xi32>
  %1 = "stablehlo.reduce_scatter"(%b) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.xor %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4xi32>) -> tensor<2xi32>
  return %0, %1 : tensor<3xi32>, tensor<2xi32>
}
}

// -----

/// What NCCL reduces itself stays as it is.

// CHECK-LABEL: func @negative_sums
//       CHECK:   "stablehlo.all_reduce"(%arg0)
//       CHECK:     stablehlo.add %{{.*}} : tensor<bf16>
//       CHECK:   "stablehlo.all_reduce"(%arg1)
//       CHECK:     stablehlo.minimum %{{.*}} : tensor<i32>
//   CHECK-NOT:   convert
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @negative_sums(%a: tensor<3xbf16>, %b: tensor<4xi32>) -> (tensor<3xbf16>, tensor<4xi32>) {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%x: tensor<bf16>, %y: tensor<bf16>):
    %s = stablehlo.add %x, %y : tensor<bf16>
    stablehlo.return %s : tensor<bf16>
  }) : (tensor<3xbf16>) -> tensor<3xbf16>
  %1 = "stablehlo.all_reduce"(%b) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.minimum %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4xi32>) -> tensor<4xi32>
  return %0, %1 : tensor<3xbf16>, tensor<4xi32>
}
}

// -----

/// Operands of a sum in a wider type are converted first.

// CHECK-LABEL: func @promoting
//       CHECK:   %[[WIDE:.*]] = stablehlo.convert %{{.*}} : (tensor<6xi8>) -> tensor<6xi32>
//       CHECK:   "stablehlo.all_reduce"(%[[WIDE]])
//       CHECK:   (tensor<6xi32>) -> tensor<6xi32>
module attributes {mhlo.num_partitions = 2 : i32} {
func.func @promoting(%a: tensor<6xi8>) -> tensor<6xi32> {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%lhs: tensor<i32>, %rhs: tensor<i32>):
    %both = stablehlo.add %lhs, %rhs : tensor<i32>
    stablehlo.return %both : tensor<i32>
  }) : (tensor<6xi8>) -> tensor<6xi32>
  return %0 : tensor<6xi32>
}
}
