// RUN: tilewright-opt %s --simplify --split-input-file | FileCheck %s

/// The gradient of a convolution with stride 2: positions in turn use taps 0 and 2, or tap 1.

#gpu = #exec.target<units = 132, tile_elements = 16384, gpu = <>>
// CHECK-LABEL: func.func @main
//  CHECK-SAME:   (%[[X:.*]]: tensor<1x8x4xf32>, %[[W:.*]]: tensor<3x4x4xf32>)
//   CHECK-DAG:   %[[W0:.*]] = stablehlo.slice %[[W]] [0:3:2, 0:4, 0:4]
//   CHECK-DAG:   %[[W1:.*]] = stablehlo.slice %[[W]] [1:2:2, 0:4, 0:4]
//   CHECK-DAG:   %[[Y0:.*]] = stablehlo.convolution(%[[X]], %[[W0]]) {{.*}}pad = {{\[\[}}1, 1]]{{.*}} -> tensor<1x9x4xf32>
//   CHECK-DAG:   %[[Y1:.*]] = stablehlo.convolution(%[[X]], %[[W1]]) {{.*}}pad = {{\[\[}}0, 1]]{{.*}} -> tensor<1x9x4xf32>
//       CHECK:   stablehlo.concatenate {{.*}} dim = 2 : {{.*}} -> tensor<1x9x2x4xf32>
//       CHECK:   stablehlo.slice {{.*}} -> tensor<1x17x4xf32>
module attributes {exec.target = #gpu} {
func.func @main(%x: tensor<1x8x4xf32>, %w: tensor<3x4x4xf32>) -> tensor<1x17x4xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[2, 2]], lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x4xf32>, tensor<3x4x4xf32>) -> tensor<1x17x4xf32>
  return %y : tensor<1x17x4xf32>
}
}

// -----

/// A stride that the dilation divides: every position reads elements at the same taps.

#gpu = #exec.target<units = 132, tile_elements = 16384, gpu = <>>
// CHECK-LABEL: func.func @main
//   CHECK-NOT:   concatenate
//       CHECK:   stablehlo.convolution{{.*}} -> tensor<1x7x4xf32>
//   CHECK-NOT:   stablehlo.convolution
module attributes {exec.target = #gpu} {
func.func @main(%x: tensor<1x8x4xf32>, %w: tensor<3x4x4xf32>) -> tensor<1x7x4xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x4xf32>, tensor<3x4x4xf32>) -> tensor<1x7x4xf32>
  return %y : tensor<1x7x4xf32>
}
}

// -----

/// 81 phases: the zeros are written instead.

#gpu = #exec.target<units = 132, tile_elements = 16384, gpu = <>>
// CHECK-LABEL: func.func @main
//       CHECK:   %[[P:.*]] = stablehlo.pad {{.*}}interior = [0, 8, 8, 0]
//       CHECK:   stablehlo.convolution(%[[P]],
//   CHECK-NOT:   lhs_dilate
module attributes {exec.target = #gpu} {
func.func @main(%x: tensor<1x4x4x4xf32>, %w: tensor<3x3x4x4xf32>) -> tensor<1x26x26x4xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {lhs_dilate = [9, 9]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x4xf32>, tensor<3x3x4x4xf32>) -> tensor<1x26x26x4xf32>
  return %y : tensor<1x26x26x4xf32>
}
}

// -----

/// A CPU's library takes the dilation as it is.

// CHECK-LABEL: func.func @negative_cpu
//       CHECK:   stablehlo.convolution{{.*}}lhs_dilate = [2]
module {
func.func @negative_cpu(%x: tensor<1x8x4xf32>, %w: tensor<3x4x4xf32>) -> tensor<1x17x4xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[2, 2]], lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x4xf32>, tensor<3x4x4xf32>) -> tensor<1x17x4xf32>
  return %y : tensor<1x17x4xf32>
}
}

// -----

/// A dilation of a billion, at which no tap reads an element: taps are computed, not searched for.

#gpu = #exec.target<units = 132, tile_elements = 16384, gpu = <>>
// CHECK-LABEL: func.func @main
//   CHECK-NOT:   stablehlo.convolution
//       CHECK:   %[[ZEROS:.*]] = stablehlo.constant dense<0.0
//       CHECK:   return %[[ZEROS]]
module attributes {exec.target = #gpu} {
func.func @main(%x: tensor<1x3x4xf32>, %w: tensor<3x4x4xf32>) -> tensor<1x2x4xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1000000007], pad = [[1, 0]], lhs_dilate = [1000000007], rhs_dilate = [3]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x4xf32>, tensor<3x4x4xf32>) -> tensor<1x2x4xf32>
  return %y : tensor<1x2x4xf32>
}
}
