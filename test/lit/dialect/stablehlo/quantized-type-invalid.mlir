// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

/// Quantized element types are MLIR's, and so are most of their checks. Each case breaks one constraint.

// quantized_type_c3
// expected-error@below {{illegal storage type minimum: -300}}
func.func private @storage_min_below_the_type(tensor<4x!quant.uniform<i8<-300:127>:f32, 1.0>>)

// -----

// quantized_type_c3
// expected-error@below {{illegal storage min and storage max: (5:5)}}
func.func private @storage_min_is_storage_max(tensor<4x!quant.uniform<i8<5:5>:f32, 1.0>>)

// -----

// quantized_type_c5
// expected-error@below {{scale 0.000000e+00 out of expressed type range}}
func.func private @scale_of_zero(tensor<4x!quant.uniform<i8:f32, 0.0>>)

// -----

// quantized_type_c5
// expected-error@below {{scale -1.000000e+00 out of expressed type range}}
func.func private @negative_scale_of_an_axis(tensor<2x!quant.uniform<i8:f32:0, {1.0, -1.0}>>)

// -----

// quantized_type_c6
// expected-error@below {{scale INF out of expressed type range}}
func.func private @infinite_scale(tensor<4x!quant.uniform<i8:f32, 1.0e+400>>)

// -----

/// Finite, but not in the expressed type.
// quantized_type_c6
// expected-error@below {{scale 1.000000e+10 out of expressed type range}}
func.func private @scale_overflows_f16(tensor<4x!quant.uniform<i8:f16, 1.0e+10>>)

// -----

// quantized_type_c10
// expected-error@below {{expected '>'}}
func.func private @two_scales_without_a_dimension(tensor<4x!quant.uniform<i8:f32, 1.0:0, 2.0>>)

// -----

// quantized_type_c11
// expected-error@below {{illegal quantized dimension: -1}}
func.func private @negative_dimension(tensor<4x!quant.uniform<i8:f32:-1, {1.0}>>)

// -----

// quantized_type_c7
func.func @quantized_type_c7(%x: tensor<4x!quant.uniform<i8:f32, 1.0:200>>) {
  // expected-error@below {{'stablehlo.negate' op operand #0 must be ranked tensor of 2/4/8/16/32/64-bit integer or 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor quantized integer (zero point in its range) values, but got 'tensor<4x!quant.uniform<i8:f32, 1.000000e+00:200>>'}}
  %0 = stablehlo.negate %x : tensor<4x!quant.uniform<i8:f32, 1.0:200>>
  return
}

// -----

// quantized_type_c12
func.func @quantized_type_c12(%x: tensor<4x!quant.uniform<i8:f32:1, {1.0, 2.0}>>) {
  // expected-error@below {{'stablehlo.uniform_dequantize' op operand #0 must be ranked tensor of per-tensor quantized integer (zero point in its range) or per-axis quantized integer (one scale per slice) values, but got 'tensor<4x!quant.uniform<i8:f32:1, {1.000000e+00,2.000000e+00}>>'}}
  %0 = stablehlo.uniform_dequantize %x : (tensor<4x!quant.uniform<i8:f32:1, {1.0, 2.0}>>) -> tensor<4xf32>
  return
}

// -----

// quantized_type_c13
func.func @quantized_type_c13(%x: tensor<4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) {
  // expected-error@below {{'stablehlo.uniform_dequantize' op operand #0 must be ranked tensor of per-tensor quantized integer (zero point in its range) or per-axis quantized integer (one scale per slice) values, but got 'tensor<4x!quant.uniform<i8:f32:0, {1.000000e+00,2.000000e+00}>>'}}
  %0 = stablehlo.uniform_dequantize %x : (tensor<4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) -> tensor<4xf32>
  return
}
