// RUN: tilewright-opt %s --mlir-print-op-generic | FileCheck %s
// RUN: tilewright-opt %s | tilewright-opt --mlir-print-op-generic | FileCheck %s

/// Constants, iota and random numbers.
// CHECK-LABEL: sym_name = "constants"
func.func @constants() {
  // CHECK: "stablehlo.constant"() <{value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>}> : () -> tensor<2xf32>
  %0 = "stablehlo.constant"() <{value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>}> : () -> tensor<2xf32>
  // CHECK: "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
  %1 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
  // CHECK: "stablehlo.constant"() <{value = dense<(1.000000e+00,2.000000e+00)> : tensor<complex<f64>>}> : () -> tensor<complex<f64>>
  %2 = "stablehlo.constant"() <{value = dense<(1.000000e+00,2.000000e+00)> : tensor<complex<f64>>}> : () -> tensor<complex<f64>>
  // CHECK: "stablehlo.constant"() <{value = dense<[3, -4]> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 2.000000e+00:15>>
  %3 = "stablehlo.constant"() <{value = dense<[3, -4]> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 2.0:15>>
  // CHECK: "stablehlo.constant"() <{value = dense_resource<weights> : tensor<2xi32>}> : () -> tensor<2xi32>
  %4 = "stablehlo.constant"() <{value = dense_resource<weights> : tensor<2xi32>}> : () -> tensor<2xi32>
  return
}

// CHECK-LABEL: sym_name = "counted_and_random"
func.func @counted_and_random(%a: tensor<f32>, %shape: tensor<2xi64>, %state: tensor<2xui64>) {
  // CHECK: "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<2x4xi32>
  %0 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<2x4xi32>
  // CHECK: "stablehlo.rng"(%{{.*}}, %{{.*}}, %{{.*}}) <{rng_distribution = #stablehlo<rng_distribution NORMAL>}> : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<?x3xf32>
  %1 = "stablehlo.rng"(%a, %a, %shape) <{rng_distribution = #stablehlo<rng_distribution NORMAL>}> : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<?x3xf32>
  // CHECK: "stablehlo.rng_bit_generator"(%{{.*}}) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x2xui32>)
  %2:2 = "stablehlo.rng_bit_generator"(%state) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x2xui32>)
  return
}

{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000100000002000000"
    }
  }
#-}
