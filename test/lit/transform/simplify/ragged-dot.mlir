// RUN: tilewright-opt %s --simplify-inline --split-input-file | FileCheck %s

/// Groups of rows: 200 rows in 3 groups are at most 6 tiles of 64. Each is multiplied once, by the weights of its group.

// CHECK-LABEL: func.func public @rows
//  CHECK-SAME:   (%[[X:.*]]: tensor<200x8xf32>, %[[W:.*]]: tensor<3x8x16xf32>, %[[SIZES:.*]]: tensor<3xi32>)
//       CHECK:   %[[TILES:.*]] = "stablehlo.gather"(%[[X]], {{.*}} -> tensor<6x64x8xf32>
//       CHECK:   %[[WEIGHTS:.*]] = "stablehlo.gather"(%[[W]], {{.*}} -> tensor<6x8x16xf32>
//       CHECK:   %[[PRODUCT:.*]] = stablehlo.dot_general %[[TILES]], %[[WEIGHTS]], batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST]
//   CHECK-NOT:   stablehlo.dot_general
//       CHECK:   %[[FLAT:.*]] = stablehlo.reshape %[[PRODUCT]] {{.*}} -> tensor<384x16xf32>
//       CHECK:   "stablehlo.gather"(%[[FLAT]], {{.*}} -> tensor<200x16xf32>
//   CHECK-NOT: @masked
func.func public @rows(%x: tensor<200x8xf32>, %w: tensor<3x8x16xf32>, %sizes: tensor<3xi32>) -> tensor<200x16xf32> {
  %0 = stablehlo.composite "chlo.ragged_dot" %x, %w, %sizes {
    composite_attributes = {
      precision_config = ["HIGHEST", "HIGHEST"],
      ragged_dot_dimension_numbers = [dense<> : tensor<0xi64>, dense<> : tensor<0xi64>, dense<1> : tensor<1xi64>,
                                      dense<1> : tensor<1xi64>, dense<0> : tensor<1xi64>, dense<0> : tensor<1xi64>]},
    decomposition = @masked, version = 1 : i32
  } : (tensor<200x8xf32>, tensor<3x8x16xf32>, tensor<3xi32>) -> tensor<200x16xf32>
  return %0 : tensor<200x16xf32>
}
func.func private @masked(%x: tensor<200x8xf32>, %w: tensor<3x8x16xf32>, %sizes: tensor<3xi32>) -> tensor<200x16xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<200x16xf32>
  return %0 : tensor<200x16xf32>
}

// -----

/// Groups of the contraction: each tile has a partial sum of f32, and those of a group are added before they are rounded.

// CHECK-LABEL: func.func public @contraction
//       CHECK:   %[[PARTIAL:.*]] = stablehlo.dot_general {{.*}}batching_dims = [0] x [0], contracting_dims = [1] x [1]{{.*}} -> tensor<2x8x16xf32>
//       CHECK:   %[[FLAT:.*]] = stablehlo.reshape %[[PARTIAL]]
//       CHECK:   %[[SUM:.*]] = stablehlo.reduce({{.*}}) {{.*}} : (tensor<2x1x2x128xf32>, tensor<f32>) -> tensor<2x1x128xf32>
//       CHECK:   stablehlo.convert %[[SUM]] : (tensor<2x1x128xf32>) -> tensor<2x1x128xbf16>
func.func public @contraction(%x: tensor<100x8xbf16>, %y: tensor<100x16xbf16>, %sizes: tensor<2xi64>) -> tensor<2x8x16xbf16> {
  %0 = stablehlo.composite "chlo.ragged_dot" %x, %y, %sizes {
    composite_attributes = {
      precision_config = ["DEFAULT", "DEFAULT"],
      ragged_dot_dimension_numbers = [dense<> : tensor<0xi64>, dense<> : tensor<0xi64>, dense<0> : tensor<1xi64>,
                                      dense<0> : tensor<1xi64>, dense<0> : tensor<1xi64>, dense<> : tensor<0xi64>]},
    decomposition = @masked, version = 1 : i32
  } : (tensor<100x8xbf16>, tensor<100x16xbf16>, tensor<2xi64>) -> tensor<2x8x16xbf16>
  return %0 : tensor<2x8x16xbf16>
}
func.func private @masked(%x: tensor<100x8xbf16>, %y: tensor<100x16xbf16>, %sizes: tensor<2xi64>) -> tensor<2x8x16xbf16> {
  %0 = stablehlo.constant dense<0.0> : tensor<2x8x16xbf16>
  return %0 : tensor<2x8x16xbf16>
}

// -----

/// Groups of the batch have no effect.

// CHECK-LABEL: func.func public @batch
//  CHECK-SAME:   (%[[X:.*]]: tensor<6x4x8xf32>, %[[Y:.*]]: tensor<6x8x5xf32>
//  CHECK-NEXT:   %[[D:.*]] = stablehlo.dot_general %[[X]], %[[Y]], batching_dims = [0] x [0], contracting_dims = [2] x [1]
//  CHECK-NEXT:   return %[[D]]
func.func public @batch(%x: tensor<6x4x8xf32>, %y: tensor<6x8x5xf32>, %sizes: tensor<2xi32>) -> tensor<6x4x5xf32> {
  %0 = stablehlo.composite "chlo.ragged_dot" %x, %y, %sizes {
    composite_attributes = {
      ragged_dot_dimension_numbers = [dense<0> : tensor<1xi64>, dense<0> : tensor<1xi64>, dense<2> : tensor<1xi64>,
                                      dense<1> : tensor<1xi64>, dense<0> : tensor<1xi64>, dense<> : tensor<0xi64>]},
    decomposition = @dense, version = 1 : i32
  } : (tensor<6x4x8xf32>, tensor<6x8x5xf32>, tensor<2xi32>) -> tensor<6x4x5xf32>
  return %0 : tensor<6x4x5xf32>
}
func.func private @dense(%x: tensor<6x4x8xf32>, %y: tensor<6x8x5xf32>, %sizes: tensor<2xi32>) -> tensor<6x4x5xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<6x4x5xf32>
  return %0 : tensor<6x4x5xf32>
}

// -----

/// A composite of this name with dimension numbers that do not fit its operands means its decomposition.

// CHECK-LABEL: func.func public @negative_dimension_out_of_range
//       CHECK:   %[[C:.*]] = stablehlo.constant dense<7.0
//       CHECK:   return %[[C]]
func.func public @negative_dimension_out_of_range(%x: tensor<4x8xf32>, %w: tensor<3x8x5xf32>, %sizes: tensor<3xi32>) -> tensor<4x5xf32> {
  %0 = stablehlo.composite "chlo.ragged_dot" %x, %w, %sizes {
    composite_attributes = {
      ragged_dot_dimension_numbers = [dense<> : tensor<0xi64>, dense<> : tensor<0xi64>, dense<2> : tensor<1xi64>,
                                      dense<1> : tensor<1xi64>, dense<0> : tensor<1xi64>, dense<0> : tensor<1xi64>]},
    decomposition = @meaning, version = 1 : i32
  } : (tensor<4x8xf32>, tensor<3x8x5xf32>, tensor<3xi32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}
func.func private @meaning(%x: tensor<4x8xf32>, %w: tensor<3x8x5xf32>, %sizes: tensor<3xi32>) -> tensor<4x5xf32> {
  %0 = stablehlo.constant dense<7.0> : tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// -----

/// Without rows there is nothing to divide into tiles, and without attributes nobody knows what is asked for.

// CHECK-LABEL: func.func public @negative_empty
//   CHECK-NOT:   stablehlo.gather
func.func public @negative_empty(%x: tensor<0x8xf32>, %w: tensor<3x8x5xf32>, %sizes: tensor<3xi32>) -> tensor<0x5xf32> {
  %0 = stablehlo.composite "chlo.ragged_dot" %x, %w, %sizes {decomposition = @meaning, version = 1 : i32
  } : (tensor<0x8xf32>, tensor<3x8x5xf32>, tensor<3xi32>) -> tensor<0x5xf32>
  return %0 : tensor<0x5xf32>
}
func.func private @meaning(%x: tensor<0x8xf32>, %w: tensor<3x8x5xf32>, %sizes: tensor<3xi32>) -> tensor<0x5xf32> {
  %0 = stablehlo.constant dense<7.0> : tensor<0x5xf32>
  return %0 : tensor<0x5xf32>
}
