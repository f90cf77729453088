// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

/// Each case breaks one constraint of dynamic_conv.

// dynamic_conv_c1
func.func @dynamic_conv_c1(%a: tensor<1x8x8x4xf32>, %b: tensor<3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op lhs and rhs must have the same rank, got 4 and 3}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c1
func.func @dynamic_conv_c1_2(%a: tensor<4xf32>, %b: tensor<4xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op operands must have rank at least 2 (lhs: batch and input feature; rhs: input feature and output feature), got rank 1}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 0, input_spatial_dimensions = [], kernel_input_feature_dimension = 0, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [], output_batch_dimension = 0, output_feature_dimension = 0, output_spatial_dimensions = []>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<4xf32>, tensor<4xf32>, tensor<2x2xi64>) -> tensor<4xf32>
  return
}

// -----

// dynamic_conv_c2
func.func @dynamic_conv_c2(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op window_strides must have one entry for each spatial dimension, got 1 for 2}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, window_strides = array<i64: 1>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c3
func.func @dynamic_conv_c3(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op window_strides must be at least 1, got 0 at index 1}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, window_strides = array<i64: 1, 0>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c4
func.func @dynamic_conv_c4(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<1x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op padding must have two entries for each spatial dimension, shape [2, 2], got [1, 2]}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<1x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c4
func.func @dynamic_conv_c4_2(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x3xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op padding must have two entries for each spatial dimension, shape [2, 2], got [2, 3]}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x3xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c5
func.func @dynamic_conv_c5(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op lhs_dilation must have one entry for each spatial dimension, got 1 for 2}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, lhs_dilation = array<i64: 1>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c6
func.func @dynamic_conv_c6(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op lhs_dilation must be at least 1, got 0 at index 0}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, lhs_dilation = array<i64: 0, 1>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c7
func.func @dynamic_conv_c7(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op rhs_dilation must have one entry for each spatial dimension, got 1 for 2}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, rhs_dilation = array<i64: 1>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c8
func.func @dynamic_conv_c8(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op rhs_dilation must be at least 1, got 0 at index 0}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, rhs_dilation = array<i64: 0, 1>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c9
func.func @dynamic_conv_c9(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op window_reversal must have one entry for each spatial dimension, got 1 for 2}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, window_reversal = array<i1: false>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c10
func.func @dynamic_conv_c10(%a: tensor<3x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op batch size of lhs must be divisible by batch_group_count, got 3 and 2}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 2 : i64}> : (tensor<3x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c11
func.func @dynamic_conv_c11(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op number of features of lhs must be divisible by feature_group_count, got 4 and 3}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c12
func.func @dynamic_conv_c12(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op input_spatial_dimensions must list all but two dimensions of lhs, got 1 of 4}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c13
func.func @dynamic_conv_c13(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op dimension numbers of lhs must be unique, got 0 twice}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 0, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c13
func.func @dynamic_conv_c13_2(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op dimension numbers of lhs must be dimensions of lhs, in [0, 4), got 4}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 4, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c14
func.func @dynamic_conv_c14(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x3x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op rhs must have as many input features as one feature group of lhs, 4, got 3}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x3x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c15
func.func @dynamic_conv_c15(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x7xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op number of output features of rhs must be divisible by batch_group_count, got 7 and 2}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 2 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x7xf32>, tensor<2x2xi64>) -> tensor<1x?x?x7xf32>
  return
}

// -----

// dynamic_conv_c16
func.func @dynamic_conv_c16(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x2x7xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op number of output features of rhs must be divisible by feature_group_count, got 7 and 2}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x2x7xf32>, tensor<2x2xi64>) -> tensor<1x?x?x7xf32>
  return
}

// -----

// dynamic_conv_c17
func.func @dynamic_conv_c17(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op kernel_spatial_dimensions must list all but two dimensions of rhs, got 1 of 4}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c18
func.func @dynamic_conv_c18(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op dimension numbers of rhs must be unique, got 2 twice}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 2, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c19
func.func @dynamic_conv_c19(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op output_spatial_dimensions must list all but two dimensions of the result, got 3 of 4}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c20
func.func @dynamic_conv_c20(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op dimension numbers of the result must be unique, got 1 twice}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 1]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c21
func.func @dynamic_conv_c21(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op feature_group_count must be at least 1, got 0}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 0 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c22
func.func @dynamic_conv_c22(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op batch_group_count must be at least 1, got -1}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = -1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c23
func.func @dynamic_conv_c23(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op feature_group_count or batch_group_count must be 1, got 2 and 2}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64, batch_group_count = 2 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c24
func.func @dynamic_conv_c24(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op precision_config must have one entry for each of the 2 operands, got 1}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>]}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c25
func.func @dynamic_conv_c25(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op result must have the shape [1, ?, ?, 8] that the window determines, got [2, ?, ?, 8]}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<2x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c25
func.func @dynamic_conv_c25_2(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op result must have the shape [1, ?, ?, 8] that the window determines, got [1, ?, ?, 9]}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x9xf32>
  return
}

// -----

// dynamic_conv_c25
func.func @dynamic_conv_c25_3(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  %p = stablehlo.constant dense<1> : tensor<2x2xi64>
  // expected-error@below {{'stablehlo.dynamic_conv' op result must have the shape [1, 8, 8, 8] that the window determines, got [1, 6, 6, 8]}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// dynamic_conv_c26
func.func @dynamic_conv_c26(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op result must have the rank of the operands, 4, got 3}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x8xf32>
  return
}

// -----

// dynamic_conv_c27
func.func @dynamic_conv_c27(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xi32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op operands must be the same kind of number, got 'f32', 'i32' and 'f32'}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xi32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c28
func.func @dynamic_conv_c28(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, %b: tensor<3x3x4x8xf32>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op rhs must be quantized, and lhs must be quantized if and only if the result is, got '!quant.uniform<i8:f32, 1.000000e+00>', 'f32' and 'f32'}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, tensor<3x3x4x8xf32>, tensor<2x2xi64>) -> tensor<1x?x?x8xf32>
  return
}

// -----

// dynamic_conv_c29
func.func @dynamic_conv_c29(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, %b: tensor<3x3x4x8x!quant.uniform<i8:f32:0, {1.0, 1.0, 1.0}>>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op rhs must be quantized along its output feature dimension, 3, got dimension 0}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, tensor<3x3x4x8x!quant.uniform<i8:f32:0, {1.0, 1.0, 1.0}>>, tensor<2x2xi64>) -> tensor<1x?x?x8x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

// dynamic_conv_c30
func.func @dynamic_conv_c30(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, %b: tensor<3x3x4x8x!quant.uniform<i8:f32:3, {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}>>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op result must be quantized along its feature dimension, 3, got dimension 1}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, tensor<3x3x4x8x!quant.uniform<i8:f32:3, {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}>>, tensor<2x2xi64>) -> tensor<1x6x?x8x!quant.uniform<i8:f32:1, {1.0, 1.0, 1.0, 1.0, 1.0, 1.0}>>
  return
}

// -----

// dynamic_conv_c31
func.func @dynamic_conv_c31(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, %b: tensor<3x3x4x8x!quant.uniform<i16:f32, 1.0>>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op lhs and rhs must have the same storage type, got '!quant.uniform<i8:f32, 1.000000e+00>', '!quant.uniform<i16:f32, 1.000000e+00>' and '!quant.uniform<i8:f32, 1.000000e+00>'}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, tensor<3x3x4x8x!quant.uniform<i16:f32, 1.0>>, tensor<2x2xi64>) -> tensor<1x?x?x8x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

// dynamic_conv_c32
func.func @dynamic_conv_c32(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, %b: tensor<3x3x4x8x!quant.uniform<i8:f64, 1.0>>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op operands and result must have the same expressed type, got '!quant.uniform<i8:f32, 1.000000e+00>', '!quant.uniform<i8:f64, 1.000000e+00>' and '!quant.uniform<i8:f32, 1.000000e+00>'}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, tensor<3x3x4x8x!quant.uniform<i8:f64, 1.0>>, tensor<2x2xi64>) -> tensor<1x?x?x8x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

// dynamic_conv_c33
func.func @dynamic_conv_c33(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, %b: tensor<3x3x4x8x!quant.uniform<i8:f32, 1.0>>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op result must be quantized per tensor if rhs is, got '!quant.uniform<i8:f32, 1.000000e+00>', '!quant.uniform<i8:f32, 1.000000e+00>' and '!quant.uniform<i8:f32:3, {1.000000e+00,1.000000e+00,1.000000e+00,1.000000e+00,1.000000e+00,1.000000e+00,1.000000e+00,1.000000e+00}>'}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, tensor<3x3x4x8x!quant.uniform<i8:f32, 1.0>>, tensor<2x2xi64>) -> tensor<1x?x?x8x!quant.uniform<i8:f32:3, {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}>>
  return
}

// -----

// dynamic_conv_c34
func.func @dynamic_conv_c34(%a: tensor<1x8x8x4xf64>, %b: tensor<3x3x4x8x!quant.uniform<i8:f32, 1.0>>, %p: tensor<2x2xi64>) {
  // expected-error@below {{'stablehlo.dynamic_conv' op lhs and result must have the expressed type of rhs, got 'f64', '!quant.uniform<i8:f32, 1.000000e+00>' and 'f64'}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf64>, tensor<3x3x4x8x!quant.uniform<i8:f32, 1.0>>, tensor<2x2xi64>) -> tensor<1x?x?x8xf64>
  return
}
