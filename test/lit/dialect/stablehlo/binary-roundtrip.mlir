// RUN: tilewright-opt %s --mlir-print-op-generic | FileCheck %s
// RUN: tilewright-opt %s | tilewright-opt --mlir-print-op-generic | FileCheck %s

/// Elementwise ops of two or three tensors.
// CHECK-LABEL: sym_name = "same_type"
func.func @same_type(%f: tensor<4x?xf32>, %p: tensor<4xi1>, %u: tensor<4xui32>) {
  // CHECK: "stablehlo.add"(%{{.*}}, %{{.*}}) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  %0 = "stablehlo.add"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  // CHECK: "stablehlo.subtract"(%{{.*}}, %{{.*}}) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  %1 = "stablehlo.subtract"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  // CHECK: "stablehlo.multiply"(%{{.*}}, %{{.*}}) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  %2 = "stablehlo.multiply"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  // CHECK: "stablehlo.divide"(%{{.*}}, %{{.*}}) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  %3 = "stablehlo.divide"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  // CHECK: "stablehlo.remainder"(%{{.*}}, %{{.*}}) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  %4 = "stablehlo.remainder"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  // CHECK: "stablehlo.power"(%{{.*}}, %{{.*}}) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  %5 = "stablehlo.power"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  // CHECK: "stablehlo.maximum"(%{{.*}}, %{{.*}}) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  %6 = "stablehlo.maximum"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  // CHECK: "stablehlo.minimum"(%{{.*}}, %{{.*}}) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  %7 = "stablehlo.minimum"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  // CHECK: "stablehlo.atan2"(%{{.*}}, %{{.*}}) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  %8 = "stablehlo.atan2"(%f, %f) : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
  // CHECK: "stablehlo.and"(%{{.*}}, %{{.*}}) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %9 = "stablehlo.and"(%p, %p) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  // CHECK: "stablehlo.or"(%{{.*}}, %{{.*}}) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %10 = "stablehlo.or"(%p, %p) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  // CHECK: "stablehlo.xor"(%{{.*}}, %{{.*}}) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %11 = "stablehlo.xor"(%p, %p) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  // CHECK: "stablehlo.shift_left"(%{{.*}}, %{{.*}}) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  %12 = "stablehlo.shift_left"(%u, %u) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  // CHECK: "stablehlo.shift_right_arithmetic"(%{{.*}}, %{{.*}}) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  %13 = "stablehlo.shift_right_arithmetic"(%u, %u) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  // CHECK: "stablehlo.shift_right_logical"(%{{.*}}, %{{.*}}) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  %14 = "stablehlo.shift_right_logical"(%u, %u) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  return
}

/// Quantization parameters may differ, and static may meet dynamic.
// CHECK-LABEL: sym_name = "mixed_types"
func.func @mixed_types(%q: tensor<4x!quant.uniform<i8:f32, 2.0:15>>, %r: tensor<4x!quant.uniform<i8:f32, 1.0>>, %s: tensor<4xf32>, %d: tensor<?xf32>) {
  // CHECK: "stablehlo.add"(%{{.*}}, %{{.*}}) : (tensor<4x!quant.uniform<i8:f32, 2.000000e+00:15>>, tensor<4x!quant.uniform<i8:f32, 1.000000e+00>>) -> tensor<4x!quant.uniform<i8:f32, 1.000000e+00>>
  %0 = "stablehlo.add"(%q, %r) : (tensor<4x!quant.uniform<i8:f32, 2.0:15>>, tensor<4x!quant.uniform<i8:f32, 1.0>>) -> tensor<4x!quant.uniform<i8:f32, 1.0>>
  // CHECK: "stablehlo.add"(%{{.*}}, %{{.*}}) : (tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
  %1 = "stablehlo.add"(%s, %d) : (tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: sym_name = "choices"
func.func @choices(%f: tensor<4xf32>, %s: tensor<f32>, %p: tensor<4xi1>, %t: tensor<i1>) {
  // CHECK: "stablehlo.compare"(%{{.*}}, %{{.*}}) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %0 = "stablehlo.compare"(%f, %f) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK: "stablehlo.compare"(%{{.*}}, %{{.*}}) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = "stablehlo.compare"(%f, %f) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK: "stablehlo.complex"(%{{.*}}, %{{.*}}) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
  %2 = "stablehlo.complex"(%f, %f) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
  // CHECK: "stablehlo.select"(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = "stablehlo.select"(%p, %f, %f) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.select"(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = "stablehlo.select"(%t, %f, %f) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.clamp"(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = "stablehlo.clamp"(%s, %f, %f) : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
