// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(simplify-canonicalize,cse))' | FileCheck %s

/// Operands and sums of the algorithm's types are types of the op.

// CHECK-LABEL: func @attention
//  CHECK-NEXT:   %[[D:.*]] = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [1] : (tensor<4x8xbf16>, tensor<6x8xbf16>) -> tensor<4x6xf32>
//  CHECK-NEXT:   return %[[D]]
func.func @attention(%q: tensor<4x8xbf16>, %k: tensor<6x8xbf16>) -> tensor<4x6xf32> {
  %d = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x8xbf16>, tensor<6x8xbf16>) -> tensor<4x6xf32>
  return %d : tensor<4x6xf32>
}

/// Other operands are rounded first, and the sum is rounded to its type before the result's.

// CHECK-LABEL: func @rounds
//  CHECK-NEXT:   %[[A:.*]] = stablehlo.convert %arg0 : (tensor<4x8xf32>) -> tensor<4x8xf16>
//  CHECK-NEXT:   %[[B:.*]] = stablehlo.convert %arg1 : (tensor<8x6xf32>) -> tensor<8x6xf16>
//  CHECK-NEXT:   %[[D:.*]] = stablehlo.dot_general %[[A]], %[[B]], contracting_dims = [1] x [0] : (tensor<4x8xf16>, tensor<8x6xf16>) -> tensor<4x6xf16>
//  CHECK-NEXT:   %[[R:.*]] = stablehlo.convert %[[D]] : (tensor<4x6xf16>) -> tensor<4x6xf32>
//  CHECK-NEXT:   return %[[R]]
func.func @rounds(%x: tensor<4x8xf32>, %y: tensor<8x6xf32>) -> tensor<4x6xf32> {
  %d = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = f16, rhs_precision_type = f16, accumulation_type = f16, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %d : tensor<4x6xf32>
}

/// f32 and tf32 keep their algorithm, because f32 may be multiplied in either; a narrower operand is widened.

// CHECK-LABEL: func @single
//  CHECK-NEXT:   %[[A:.*]] = stablehlo.convert %arg0 : (tensor<4x8xbf16>) -> tensor<4x8xf32>
//  CHECK-NEXT:   stablehlo.dot_general %[[A]], %arg1, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = f32,{{.*}} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
//  CHECK-NEXT:   stablehlo.dot_general %[[A]], %arg1, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32,{{.*}} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
//  CHECK-NEXT:   return
func.func @single(%x: tensor<4x8xbf16>, %y: tensor<8x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %d = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x8xbf16>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %e = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x8xbf16>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %d, %e : tensor<4x6xf32>, tensor<4x6xf32>
}

/// Several products need the target: `fuse` splits the operands. A transpose of the result still exchanges them.

// CHECK-LABEL: func @negative_several
//  CHECK-NEXT:   %[[D:.*]] = stablehlo.dot_general %arg1, %arg0, contracting_dims = [0] x [1], algorithm = {{.*}}num_primitive_operations = 3,{{.*}} : (tensor<8x6xf32>, tensor<4x8xf32>) -> tensor<6x4xf32>
//  CHECK-NEXT:   return %[[D]]
func.func @negative_several(%x: tensor<4x8xf32>, %y: tensor<8x6xf32>) -> tensor<6x4xf32> {
  %d = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %t = stablehlo.transpose %d, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  return %t : tensor<6x4xf32>
}

/// A sum of predicates is true if one of them is.

// CHECK-LABEL: func @predicates
//       CHECK:   %[[A:.*]] = stablehlo.convert %arg0 : (tensor<4x8xi1>) -> tensor<4x8xi8>
//       CHECK:   %[[B:.*]] = stablehlo.convert %arg1 : (tensor<8x6xi1>) -> tensor<8x6xi8>
//       CHECK:   %[[D:.*]] = stablehlo.dot_general %[[A]], %[[B]], contracting_dims = [1] x [0] : (tensor<4x8xi8>, tensor<8x6xi8>) -> tensor<4x6xi32>
//       CHECK:   stablehlo.compare NE, %[[D]], %{{.*}} : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi1>
func.func @predicates(%x: tensor<4x8xi1>, %y: tensor<8x6xi1>) -> tensor<4x6xi1> {
  %d = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x8xi1>, tensor<8x6xi1>) -> tensor<4x6xi1>
  return %d : tensor<4x6xi1>
}
