// RUN: tilewright-opt %s --mlir-print-op-generic | FileCheck %s
// RUN: tilewright-opt %s | tilewright-opt --mlir-print-op-generic | FileCheck %s

/// Ops of one tensor.
// CHECK-LABEL: sym_name = "same_type"
func.func @same_type(%f: tensor<4xf32>, %i: tensor<?x4xi32>, %u: tensor<4xui8>, %p: tensor<4xi1>) {
  // CHECK: "stablehlo.ceil"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %0 = "stablehlo.ceil"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.floor"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.floor"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.round_nearest_afz"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "stablehlo.round_nearest_afz"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.round_nearest_even"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "stablehlo.round_nearest_even"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.cbrt"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = "stablehlo.cbrt"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.cosine"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %5 = "stablehlo.cosine"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.exponential"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %6 = "stablehlo.exponential"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.exponential_minus_one"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %7 = "stablehlo.exponential_minus_one"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.log"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %8 = "stablehlo.log"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.log_plus_one"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %9 = "stablehlo.log_plus_one"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.logistic"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %10 = "stablehlo.logistic"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.rsqrt"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %11 = "stablehlo.rsqrt"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.sine"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %12 = "stablehlo.sine"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.sqrt"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %13 = "stablehlo.sqrt"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.tan"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %14 = "stablehlo.tan"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.tanh"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %15 = "stablehlo.tanh"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.abs"(%{{.*}}) : (tensor<?x4xi32>) -> tensor<?x4xi32>
  %16 = "stablehlo.abs"(%i) : (tensor<?x4xi32>) -> tensor<?x4xi32>
  // CHECK: "stablehlo.negate"(%{{.*}}) : (tensor<?x4xi32>) -> tensor<?x4xi32>
  %17 = "stablehlo.negate"(%i) : (tensor<?x4xi32>) -> tensor<?x4xi32>
  // CHECK: "stablehlo.sign"(%{{.*}}) : (tensor<?x4xi32>) -> tensor<?x4xi32>
  %18 = "stablehlo.sign"(%i) : (tensor<?x4xi32>) -> tensor<?x4xi32>
  // CHECK: "stablehlo.count_leading_zeros"(%{{.*}}) : (tensor<4xui8>) -> tensor<4xui8>
  %19 = "stablehlo.count_leading_zeros"(%u) : (tensor<4xui8>) -> tensor<4xui8>
  // CHECK: "stablehlo.popcnt"(%{{.*}}) : (tensor<4xui8>) -> tensor<4xui8>
  %20 = "stablehlo.popcnt"(%u) : (tensor<4xui8>) -> tensor<4xui8>
  // CHECK: "stablehlo.not"(%{{.*}}) : (tensor<4xi1>) -> tensor<4xi1>
  %21 = "stablehlo.not"(%p) : (tensor<4xi1>) -> tensor<4xi1>
  return
}

// CHECK-LABEL: sym_name = "result_accuracy"
func.func @result_accuracy(%f: tensor<4xf32>) {
  // CHECK: "stablehlo.exponential"(%{{.*}}) <{result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>}> : (tensor<4xf32>) -> tensor<4xf32>
  %0 = "stablehlo.exponential"(%f) <{result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>}> : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.tanh"(%{{.*}}) <{result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-05, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}> : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.tanh"(%f) <{result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-05, rtol = 0.0, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: sym_name = "other_type"
func.func @other_type(%c: tensor<4xcomplex<f32>>, %f: tensor<4xf32>, %q: tensor<4x!quant.uniform<i8:f32, 2.0:15>>) {
  // CHECK: "stablehlo.abs"(%{{.*}}) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %0 = "stablehlo.abs"(%c) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  // CHECK: "stablehlo.real"(%{{.*}}) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %1 = "stablehlo.real"(%c) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  // CHECK: "stablehlo.imag"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "stablehlo.imag"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.convert"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
  %3 = "stablehlo.convert"(%f) : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
  // CHECK: "stablehlo.is_finite"(%{{.*}}) : (tensor<4xf32>) -> tensor<4xi1>
  %4 = "stablehlo.is_finite"(%f) : (tensor<4xf32>) -> tensor<4xi1>
  // CHECK: "stablehlo.reduce_precision"(%{{.*}}) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  %5 = "stablehlo.reduce_precision"(%f) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.bitcast_convert"(%{{.*}}) : (tensor<4xf32>) -> tensor<4x4xui8>
  %6 = "stablehlo.bitcast_convert"(%f) : (tensor<4xf32>) -> tensor<4x4xui8>
  // CHECK: "stablehlo.uniform_quantize"(%{{.*}}) : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32:0, {1.000000e+00,2.000000e+00:1,3.000000e+00,4.000000e+00}>>
  %7 = "stablehlo.uniform_quantize"(%f) : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32:0, {1.0, 2.0:1, 3.0, 4.0}>>
  // CHECK: "stablehlo.uniform_dequantize"(%{{.*}}) : (tensor<4x!quant.uniform<i8:f32, 2.000000e+00:15>>) -> tensor<4xf32>
  %8 = "stablehlo.uniform_dequantize"(%q) : (tensor<4x!quant.uniform<i8:f32, 2.0:15>>) -> tensor<4xf32>
  return
}
