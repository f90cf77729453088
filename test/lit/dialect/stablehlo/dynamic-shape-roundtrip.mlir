// RUN: tilewright-opt %s --mlir-print-op-generic | FileCheck %s
// RUN: tilewright-opt %s | tilewright-opt --mlir-print-op-generic | FileCheck %s

/// Shapes as values.
// CHECK-LABEL: sym_name = "sizes"
func.func @sizes(%d: tensor<2x?xf32>, %v: tensor<8xf32>, %n: tensor<i32>) {
  // CHECK: "stablehlo.get_dimension_size"(%{{.*}}) <{dimension = 1 : i64}> : (tensor<2x?xf32>) -> tensor<i32>
  %0 = "stablehlo.get_dimension_size"(%d) <{dimension = 1 : i64}> : (tensor<2x?xf32>) -> tensor<i32>
  // CHECK: "stablehlo.set_dimension_size"(%{{.*}}, %{{.*}}) <{dimension = 0 : i64}> : (tensor<8xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<8>>
  %1 = "stablehlo.set_dimension_size"(%v, %n) <{dimension = 0 : i64}> : (tensor<8xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<8>>
  return
}

// CHECK-LABEL: sym_name = "dynamic"
func.func @dynamic(%d: tensor<?xf32>, %s: tensor<f32>, %shape: tensor<2xi64>, %one: tensor<1xindex>, %m: tensor<8x4xf32>, %i: tensor<3x1xi32>, %sizes: tensor<2xi32>) {
  // CHECK: "stablehlo.dynamic_broadcast_in_dim"(%{{.*}}, %{{.*}}) <{broadcast_dimensions = array<i64: 1>, known_expanding_dimensions = array<i64>, known_nonexpanding_dimensions = array<i64: 0>}> : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%d, %shape) <{broadcast_dimensions = array<i64: 1>, known_expanding_dimensions = array<i64>, known_nonexpanding_dimensions = array<i64: 0>}> : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK: "stablehlo.dynamic_gather"(%{{.*}}, %{{.*}}, %{{.*}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<2xi32>) -> tensor<3x?xf32>
  %1 = "stablehlo.dynamic_gather"(%m, %i, %sizes) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<2xi32>) -> tensor<3x?xf32>
  // CHECK: "stablehlo.dynamic_iota"(%{{.*}}) <{iota_dimension = 0 : i64}> : (tensor<2xi64>) -> tensor<?x4xi32>
  %2 = "stablehlo.dynamic_iota"(%shape) <{iota_dimension = 0 : i64}> : (tensor<2xi64>) -> tensor<?x4xi32>
  // CHECK: "stablehlo.dynamic_pad"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (tensor<?xf32>, tensor<f32>, tensor<1xindex>, tensor<1xindex>, tensor<1xindex>) -> tensor<?xf32>
  %3 = "stablehlo.dynamic_pad"(%d, %s, %one, %one, %one) : (tensor<?xf32>, tensor<f32>, tensor<1xindex>, tensor<1xindex>, tensor<1xindex>) -> tensor<?xf32>
  // CHECK: "stablehlo.dynamic_reshape"(%{{.*}}, %{{.*}}) : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %4 = "stablehlo.dynamic_reshape"(%d, %shape) : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK: "stablehlo.real_dynamic_slice"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (tensor<?xf32>, tensor<1xindex>, tensor<1xindex>, tensor<1xindex>) -> tensor<?xf32>
  %5 = "stablehlo.real_dynamic_slice"(%d, %one, %one, %one) : (tensor<?xf32>, tensor<1xindex>, tensor<1xindex>, tensor<1xindex>) -> tensor<?xf32>
  return
}

// CHECK-LABEL: sym_name = "dynamic_conv"
func.func @dynamic_conv(%image: tensor<1x8x8x4xf32>, %kernel: tensor<3x3x4x8xf32>, %padding: tensor<2x2xi64>) {
  // CHECK: "stablehlo.dynamic_conv"(%{{.*}}, %{{.*}}, %{{.*}}) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  %0 = "stablehlo.dynamic_conv"(%image, %kernel, %padding) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}
