// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(fuse-split-products))' --split-input-file | FileCheck %s

module attributes {exec.target = #exec.target<gpu = <>, matrix = <types = [f16, bf16, tf32]>>} {

/// Six products: the number of the part is a dimension before the contracted one, and both are merged.

// CHECK-LABEL: func @highest
//   CHECK-DAG:   %[[X:.*]] = stablehlo.broadcast_in_dim %arg0, dims = [0, 2] : (tensor<64x32xf32>) -> tensor<64x6x32xf32>
//   CHECK-DAG:   %[[Y:.*]] = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<32x48xf32>) -> tensor<6x32x48xf32>
//   CHECK-DAG:   %[[A:.*]] = stablehlo.reshape {{.*}} : (tensor<64x6x32xbf16>) -> tensor<64x192xbf16>
//   CHECK-DAG:   %[[B:.*]] = stablehlo.reshape {{.*}} : (tensor<6x32x48xbf16>) -> tensor<192x48xbf16>
//       CHECK:   %[[D:.*]] = stablehlo.dot_general %[[A]], %[[B]], contracting_dims = [1] x [0] : (tensor<64x192xbf16>, tensor<192x48xbf16>) -> tensor<64x48xf32>
//       CHECK:   return %[[D]]
func.func @highest(%x: tensor<64x32xf32>, %y: tensor<32x48xf32>) -> tensor<64x48xf32> {
  %d = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  return %d : tensor<64x48xf32>
}

/// The parts of one operand: high, the finite high, middle, and no low one for three products. Values that are not finite are in the
/// last part only.

// CHECK-LABEL: func @parts
//       CHECK:   %[[X:.*]] = stablehlo.broadcast_in_dim %arg0, dims = [0, 2] : (tensor<16x16xf32>) -> tensor<16x3x16xf32>
//       CHECK:   %[[FINITE:.*]] = stablehlo.is_finite %[[X]]
//       CHECK:   %[[LARGEST:.*]] = stablehlo.constant dense<3.38953139E+38>
//       CHECK:   %[[LOWEST:.*]] = stablehlo.constant dense<-3.38953139E+38>
//       CHECK:   %[[CLAMPED:.*]] = stablehlo.clamp %[[LOWEST]], %[[X]], %[[LARGEST]]
//       CHECK:   %[[WHOLE:.*]] = stablehlo.select %[[FINITE]], %[[CLAMPED]], %[[X]]
//       CHECK:   %[[HIGH:.*]] = stablehlo.convert %[[WHOLE]] : (tensor<16x3x16xf32>) -> tensor<16x3x16xbf16>
//       CHECK:   %[[WIDE:.*]] = stablehlo.convert %[[HIGH]] : (tensor<16x3x16xbf16>) -> tensor<16x3x16xf32>
//       CHECK:   %[[REST:.*]] = stablehlo.subtract %[[X]], %[[WIDE]]
//       CHECK:   %[[LEFT:.*]] = stablehlo.select %[[FINITE]], %[[REST]]
//       CHECK:   %[[MIDDLE:.*]] = stablehlo.convert %[[LEFT]] : (tensor<16x3x16xf32>) -> tensor<16x3x16xbf16>
//   CHECK-NOT:   stablehlo.subtract
//       CHECK:   %[[SAFE:.*]] = stablehlo.select %[[FINITE]], %[[HIGH]]
//       CHECK:   %[[NUMBER:.*]] = stablehlo.iota dim = 1 : tensor<16x3x16xi32>
//       CHECK:   %[[TWO:.*]] = stablehlo.select %{{.*}}, %[[SAFE]], %[[MIDDLE]]
//       CHECK:   %[[ALL:.*]] = stablehlo.select %{{.*}}, %[[HIGH]], %[[TWO]]
//       CHECK:   stablehlo.reshape %[[ALL]]
func.func @parts(%x: tensor<16x16xf32>, %y: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %d = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], precision = [HIGH, DEFAULT] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %d : tensor<16x16xf32>
}

/// Nine products, with batches and two contracted dimensions.

// CHECK-LABEL: func @nine
//       CHECK:   stablehlo.dot_general {{.*}}, batching_dims = [0] x [0], contracting_dims = [1, 3] x [2, 1] : (tensor<2x45x16x7xbf16>, tensor<2x7x45x20xbf16>) -> tensor<2x16x20xf32>
func.func @nine(%x: tensor<2x5x16x7xf32>, %y: tensor<2x7x5x20xf32>) -> tensor<2x16x20xf32> {
  %d = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1, 3] x [2, 1], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 9, allow_imprecise_accumulation = false> : (tensor<2x5x16x7xf32>, tensor<2x7x5x20xf32>) -> tensor<2x16x20xf32>
  return %d : tensor<2x16x20xf32>
}

/// Parts of tf32 are f32 tensors, which the matrix instruction multiplies without loss.

// CHECK-LABEL: func @tf32
//       CHECK:   stablehlo.reduce_precision {{.*}}, format = e8m10
//       CHECK:   stablehlo.dot_general {{.*}}, contracting_dims = [1] x [0] : (tensor<16x48xf32>, tensor<48x16xf32>) -> tensor<16x16xf32>
func.func @tf32(%x: tensor<16x16xf32>, %y: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %d = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %d : tensor<16x16xf32>
}

/// An algorithm of one product becomes a precision; a narrower operand is widened, and the result rounded from f32.

// CHECK-LABEL: func @one
//  CHECK-NEXT:   stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<16x16xf32>
//  CHECK-NEXT:   stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x16xf32>
func.func @one(%x: tensor<16x16xf32>, %y: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %d = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %e = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %d, %e : tensor<16x16xf32>, tensor<16x16xf32>
}

/// Few rows, columns or terms: the parts would cost more than they save.

// CHECK-LABEL: func @negative_small
//  CHECK-NEXT:   stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<64x32xf32>
//  CHECK-NEXT:   stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<64x32xf32>
func.func @negative_small(%x: tensor<64x32xf32>, %y: tensor<32x8xf32>) -> (tensor<64x8xf32>, tensor<64x8xf32>) {
  %d = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<64x32xf32>, tensor<32x8xf32>) -> tensor<64x8xf32>
  %e = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 3, rhs_component_count = 3, num_primitive_operations = 6, allow_imprecise_accumulation = false> : (tensor<64x32xf32>, tensor<32x8xf32>) -> tensor<64x8xf32>
  return %d, %e : tensor<64x8xf32>, tensor<64x8xf32>
}

/// Other types have one way to be multiplied, and algorithms that nothing computes stay.

// CHECK-LABEL: func @negative_types
//  CHECK-NEXT:   stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<16x16xf16>
//  CHECK-NEXT:   stablehlo.dot_general %arg1, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<16x16xf64>
//  CHECK-NEXT:   stablehlo.dot_general %arg2, %arg2, contracting_dims = [1] x [0], algorithm = {{.*}} num_primitive_operations = 4
func.func @negative_types(%x: tensor<16x16xf16>, %y: tensor<16x16xf64>, %z: tensor<16x16xf32>) -> (tensor<16x16xf16>, tensor<16x16xf64>, tensor<16x16xf32>) {
  %d = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf16>
  %e = stablehlo.dot_general %y, %y, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<16x16xf64>, tensor<16x16xf64>) -> tensor<16x16xf64>
  %f = stablehlo.dot_general %z, %z, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 2, rhs_component_count = 2, num_primitive_operations = 4, allow_imprecise_accumulation = false> : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %d, %e, %f : tensor<16x16xf16>, tensor<16x16xf64>, tensor<16x16xf32>
}
}

// -----

/// A CPU computes f32 products in f32, which is more precise than every algorithm.

// CHECK-LABEL: func @negative_cpu
//  CHECK-NEXT:   stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<64x32xf32>
//  CHECK-NEXT:   return
func.func @negative_cpu(%x: tensor<64x32xf32>, %y: tensor<32x48xf32>) -> tensor<64x48xf32> {
  %d = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  return %d : tensor<64x48xf32>
}
