// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

/// Each case breaks one constraint of an op of one tensor, or of quantized types.

// cbrt_c1
func.func @cbrt_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.cbrt' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.cbrt %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// cbrt_c1
func.func @cbrt_c1_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.cbrt' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.cbrt %x : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// ceil_c1
func.func @ceil_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.ceil' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.ceil %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// ceil_c1
func.func @ceil_c1_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.ceil' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.ceil %x : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// cosine_c1
func.func @cosine_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.cosine' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.cosine %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// cosine_c1
func.func @cosine_c1_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.cosine' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.cosine %x : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// exponential_c1
func.func @exponential_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.exponential' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.exponential %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// exponential_c1
func.func @exponential_c1_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.exponential' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.exponential %x : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// exponential_minus_one_c1
func.func @exponential_minus_one_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.exponential_minus_one' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.exponential_minus_one %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// exponential_minus_one_c1
func.func @exponential_minus_one_c1_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.exponential_minus_one' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.exponential_minus_one %x : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// floor_c1
func.func @floor_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.floor' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.floor %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// floor_c1
func.func @floor_c1_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.floor' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.floor %x : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// log_c1
func.func @log_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.log' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.log %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// log_c1
func.func @log_c1_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.log' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.log %x : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// log_plus_one_c1
func.func @log_plus_one_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.log_plus_one' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.log_plus_one %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// log_plus_one_c1
func.func @log_plus_one_c1_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.log_plus_one' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.log_plus_one %x : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// logistic_c1
func.func @logistic_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.logistic' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.logistic %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// logistic_c1
func.func @logistic_c1_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.logistic' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.logistic %x : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// negate_c1
func.func @negate_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.negate' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.negate %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// negate_c1
func.func @negate_c1_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.negate' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.negate %x : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// round_nearest_afz_c1
func.func @round_nearest_afz_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.round_nearest_afz' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.round_nearest_afz %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// round_nearest_afz_c1
func.func @round_nearest_afz_c1_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.round_nearest_afz' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.round_nearest_afz %x : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// round_nearest_even_c1
func.func @round_nearest_even_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.round_nearest_even' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.round_nearest_even %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// round_nearest_even_c1
func.func @round_nearest_even_c1_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.round_nearest_even' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.round_nearest_even %x : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// rsqrt_c1
func.func @rsqrt_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.rsqrt' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.rsqrt %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// rsqrt_c1
func.func @rsqrt_c1_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.rsqrt' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.rsqrt %x : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// sign_c1
func.func @sign_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.sign' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.sign %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// sign_c1
func.func @sign_c1_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.sign' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.sign %x : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// sine_c1
func.func @sine_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.sine' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.sine %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// sine_c1
func.func @sine_c1_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.sine' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.sine %x : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// sqrt_c1
func.func @sqrt_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.sqrt' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.sqrt %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// sqrt_c1
func.func @sqrt_c1_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.sqrt' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.sqrt %x : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// tan_c1
func.func @tan_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.tan' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.tan %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tan_c1
func.func @tan_c1_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.tan' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.tan %x : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// tanh_c1
func.func @tanh_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.tanh' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.tanh %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tanh_c1
func.func @tanh_c1_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.tanh' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.tanh %x : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// count_leading_zeros_c1
func.func @count_leading_zeros_c1(%x: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.count_leading_zeros' op operands and results must have the same shape, got 'tensor<4xi32>' and 'tensor<4x1xi32>'}}
  %0 = stablehlo.count_leading_zeros %x : (tensor<4xi32>) -> tensor<4x1xi32>
  return
}

// -----

// count_leading_zeros_c1
func.func @count_leading_zeros_c1_2(%x: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.count_leading_zeros' op operands and results must have the same element type, got 'tensor<4xi32>' and 'tensor<4xi64>'}}
  %0 = stablehlo.count_leading_zeros %x : (tensor<4xi32>) -> tensor<4xi64>
  return
}

// -----

// popcnt_c1
func.func @popcnt_c1(%x: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.popcnt' op operands and results must have the same shape, got 'tensor<4xi32>' and 'tensor<4x1xi32>'}}
  %0 = stablehlo.popcnt %x : (tensor<4xi32>) -> tensor<4x1xi32>
  return
}

// -----

// popcnt_c1
func.func @popcnt_c1_2(%x: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.popcnt' op operands and results must have the same element type, got 'tensor<4xi32>' and 'tensor<4xi64>'}}
  %0 = stablehlo.popcnt %x : (tensor<4xi32>) -> tensor<4xi64>
  return
}

// -----

// not_c1
func.func @not_c1(%x: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.not' op operands and results must have the same shape, got 'tensor<4xi32>' and 'tensor<4x1xi32>'}}
  %0 = stablehlo.not %x : (tensor<4xi32>) -> tensor<4x1xi32>
  return
}

// -----

// not_c1
func.func @not_c1_2(%x: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.not' op operands and results must have the same element type, got 'tensor<4xi32>' and 'tensor<4xi64>'}}
  %0 = stablehlo.not %x : (tensor<4xi32>) -> tensor<4xi64>
  return
}

// -----

// abs_c1
func.func @abs_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.abs' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.abs %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// abs_c2
func.func @abs_c2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.abs' op result must have the operand's real element type, 'f32', got 'f64'}}
  %0 = stablehlo.abs %x : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// abs_c2
func.func @abs_c2_2(%x: tensor<4xcomplex<f32>>) {
  // expected-error@below {{'stablehlo.abs' op result must have the operand's real element type, 'f32', got 'f64'}}
  %0 = stablehlo.abs %x : (tensor<4xcomplex<f32>>) -> tensor<4xf64>
  return
}

// -----

// abs_i1
func.func @abs_i1(%x: tensor<4xui8>) {
  // expected-error@below {{'stablehlo.abs' op operand #0 must be ranked tensor of 2/4/8/16/32/64-bit signless integer or 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor quantized integer (zero point in its range) values, but got 'tensor<4xui8>'}}
  %0 = stablehlo.abs %x : tensor<4xui8>
  return
}

// -----

// cbrt_i1
func.func @cbrt_i1(%x: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.cbrt' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor quantized integer (zero point in its range) values, but got 'tensor<4xi32>'}}
  %0 = stablehlo.cbrt %x : tensor<4xi32>
  return
}

// -----

// negate_i1
func.func @negate_i1(%x: tensor<4xi1>) {
  // expected-error@below {{'stablehlo.negate' op operand #0 must be ranked tensor of 2/4/8/16/32/64-bit integer or 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor quantized integer (zero point in its range) values, but got 'tensor<4xi1>'}}
  %0 = stablehlo.negate %x : tensor<4xi1>
  return
}

// -----

// not_i1
func.func @not_i1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.not' op operand #0 must be ranked tensor of bool or 2/4/8/16/32/64-bit integer values, but got 'tensor<4xf32>'}}
  %0 = stablehlo.not %x : tensor<4xf32>
  return
}

// -----

// popcnt_i1
func.func @popcnt_i1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.popcnt' op operand #0 must be ranked tensor of 2/4/8/16/32/64-bit integer values, but got 'tensor<4xf32>'}}
  %0 = stablehlo.popcnt %x : tensor<4xf32>
  return
}

// -----

// sign_i1
func.func @sign_i1(%x: tensor<4xui8>) {
  // expected-error@below {{'stablehlo.sign' op operand #0 must be ranked tensor of 2/4/8/16/32/64-bit signless integer or 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor quantized integer (zero point in its range) values, but got 'tensor<4xui8>'}}
  %0 = stablehlo.sign %x : tensor<4xui8>
  return
}

// -----

// ceil_i1
func.func @ceil_i1(%x: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.ceil' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or per-tensor quantized integer (zero point in its range) values, but got 'tensor<4xi32>'}}
  %0 = stablehlo.ceil %x : tensor<4xi32>
  return
}

// -----

// exponential_c1
func.func @exponential_c1_3(%x: tensor<4x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@below {{'stablehlo.exponential' op operands and results must have the same element type, got 'tensor<4x!quant.uniform<i8:f32, 1.000000e+00>>' and 'tensor<4x!quant.uniform<i16:f32, 1.000000e+00>>'}}
  %0 = stablehlo.exponential %x : (tensor<4x!quant.uniform<i8:f32, 1.0>>) -> tensor<4x!quant.uniform<i16:f32, 1.0>>
  return
}

// -----

// convert_c1
func.func @convert_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.convert' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xi32>'}}
  %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<5xi32>
  return
}

// -----

// convert_i1
func.func @convert_i1(%x: tensor<4x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@below {{'stablehlo.convert' op operand #0 must be ranked tensor of bool or 2/4/8/16/32/64-bit integer or 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements values, but got 'tensor<4x!quant.uniform<i8:f32, 1.000000e+00>>'}}
  %0 = stablehlo.convert %x : (tensor<4x!quant.uniform<i8:f32, 1.0>>) -> tensor<4xf32>
  return
}

// -----

// real_c1
func.func @real_c1(%x: tensor<4xcomplex<f32>>) {
  // expected-error@below {{'stablehlo.real' op operands and results must have the same shape, got 'tensor<4xcomplex<f32>>' and 'tensor<5xf32>'}}
  %0 = stablehlo.real %x : (tensor<4xcomplex<f32>>) -> tensor<5xf32>
  return
}

// -----

// real_c2
func.func @real_c2(%x: tensor<4xcomplex<f32>>) {
  // expected-error@below {{'stablehlo.real' op result must have the operand's real element type, 'f32', got 'f64'}}
  %0 = stablehlo.real %x : (tensor<4xcomplex<f32>>) -> tensor<4xf64>
  return
}

// -----

// real_c2
func.func @real_c2_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.real' op result must have the operand's real element type, 'f32', got 'f64'}}
  %0 = stablehlo.real %x : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// imag_c1
func.func @imag_c1(%x: tensor<4xcomplex<f32>>) {
  // expected-error@below {{'stablehlo.imag' op operands and results must have the same shape, got 'tensor<4xcomplex<f32>>' and 'tensor<f32>'}}
  %0 = stablehlo.imag %x : (tensor<4xcomplex<f32>>) -> tensor<f32>
  return
}

// -----

// imag_c2
func.func @imag_c2(%x: tensor<4xcomplex<f64>>) {
  // expected-error@below {{'stablehlo.imag' op result must have the operand's real element type, 'f64', got 'f32'}}
  %0 = stablehlo.imag %x : (tensor<4xcomplex<f64>>) -> tensor<4xf32>
  return
}

// -----

// is_finite_c1
func.func @is_finite_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.is_finite' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xi1>'}}
  %0 = stablehlo.is_finite %x : (tensor<4xf32>) -> tensor<5xi1>
  return
}

// -----

// is_finite_i1
func.func @is_finite_i1(%x: tensor<4xi32>) {
  // expected-error@below {{'stablehlo.is_finite' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or per-tensor quantized integer (zero point in its range) values, but got 'tensor<4xi32>'}}
  %0 = stablehlo.is_finite %x : (tensor<4xi32>) -> tensor<4xi1>
  return
}

// -----

// reduce_precision_c1
func.func @reduce_precision_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.reduce_precision' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.reduce_precision %x, format = e5m10 : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// reduce_precision_c1
func.func @reduce_precision_c1_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.reduce_precision' op operands and results must have the same element type, got 'tensor<4xf32>' and 'tensor<4xf16>'}}
  %0 = stablehlo.reduce_precision %x, format = e5m10 : (tensor<4xf32>) -> tensor<4xf16>
  return
}

// -----

// reduce_precision_c2
func.func @reduce_precision_c2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.reduce_precision' op exponent_bits must be at least 1, got 0}}
  %0 = stablehlo.reduce_precision %x, format = e0m10 : tensor<4xf32>
  return
}

// -----

// reduce_precision_c3
func.func @reduce_precision_c3(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.reduce_precision' op mantissa_bits must not be negative, got -1}}
  %0 = "stablehlo.reduce_precision"(%x) <{exponent_bits = 5 : i32, mantissa_bits = -1 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// uniform_quantize_c1
func.func @uniform_quantize_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.uniform_quantize' op operands and results must have the same shape, got 'tensor<4xf32>' and 'tensor<5x!quant.uniform<i8:f32, 1.000000e+00>>'}}
  %0 = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<5x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

// uniform_quantize_c2
func.func @uniform_quantize_c2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.uniform_quantize' op result must have the operand's float type as its expressed type, 'f32', got 'f64'}}
  %0 = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f64, 1.0>>
  return
}

// -----

// uniform_quantize_c2
func.func @uniform_quantize_c2_2(%x: tensor<4x!quant.uniform<i8:f64, 1.0>>) {
  // expected-error@below {{'stablehlo.uniform_quantize' op result must have the operand's float type as its expressed type, 'f64', got 'f32'}}
  %0 = stablehlo.uniform_quantize %x : (tensor<4x!quant.uniform<i8:f64, 1.0>>) -> tensor<4x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

// uniform_dequantize_c1
func.func @uniform_dequantize_c1(%x: tensor<4x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@below {{'stablehlo.uniform_dequantize' op operands and results must have the same shape, got 'tensor<4x!quant.uniform<i8:f32, 1.000000e+00>>' and 'tensor<5xf32>'}}
  %0 = stablehlo.uniform_dequantize %x : (tensor<4x!quant.uniform<i8:f32, 1.0>>) -> tensor<5xf32>
  return
}

// -----

// uniform_dequantize_c2
func.func @uniform_dequantize_c2(%x: tensor<4x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@below {{'stablehlo.uniform_dequantize' op result must have the expressed type of the operand, 'f32', got 'f64'}}
  %0 = stablehlo.uniform_dequantize %x : (tensor<4x!quant.uniform<i8:f32, 1.0>>) -> tensor<4xf64>
  return
}

// -----

// bitcast_convert_c1
func.func @bitcast_convert_c1(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.bitcast_convert' op result must have the shape [4] to hold the bits of 'tensor<4xf32>', got [5]}}
  %0 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<5xi32>
  return
}

// -----

// bitcast_convert_c1
func.func @bitcast_convert_c1_2(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.bitcast_convert' op result must have the shape [4, 2] to hold the bits of 'tensor<4xf32>', got [4]}}
  %0 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4xi16>
  return
}

// -----

// bitcast_convert_c1
func.func @bitcast_convert_c1_3(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.bitcast_convert' op result must have the shape [4, 2] to hold the bits of 'tensor<4xf32>', got [4, 3]}}
  %0 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4x3xi16>
  return
}

// -----

// bitcast_convert_c1
func.func @bitcast_convert_c1_4(%x: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.bitcast_convert' op operand must have the shape [2] to hold the bits of 'tensor<i64>', got [4]}}
  %0 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<i64>
  return
}

// -----

// bitcast_convert_c1
func.func @bitcast_convert_c1_5(%x: tensor<f32>) {
  // expected-error@below {{'stablehlo.bitcast_convert' op operand must have the shape [2] to hold the bits of 'tensor<i64>', got []}}
  %0 = stablehlo.bitcast_convert %x : (tensor<f32>) -> tensor<i64>
  return
}

// -----

// bitcast_convert_c1
func.func @bitcast_convert_c1_6(%x: tensor<4xf6E2M3FN>) {
  // expected-error@below {{'stablehlo.bitcast_convert' op the width of one element type must be a multiple of the width of the other, got 6 and 8 bits}}
  %0 = stablehlo.bitcast_convert %x : (tensor<4xf6E2M3FN>) -> tensor<4xi8>
  return
}

// -----

// bitcast_convert_c2
func.func @bitcast_convert_c2(%x: tensor<4xcomplex<f32>>) {
  // expected-error@below {{'stablehlo.bitcast_convert' op operand and result must both be complex or both be non-complex, got 'complex<f32>' and 'f64'}}
  %0 = stablehlo.bitcast_convert %x : (tensor<4xcomplex<f32>>) -> tensor<4xf64>
  return
}
