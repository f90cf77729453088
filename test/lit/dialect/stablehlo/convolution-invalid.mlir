// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

/// Each case breaks one constraint of convolution.

// convolution_c1
func.func @convolution_c1(%a: tensor<1x8x8x4xf32>, %b: tensor<3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op lhs and rhs must have the same rank, got 4 and 3}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c1
func.func @convolution_c1_2(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error@below {{'stablehlo.convolution' op operands must have rank at least 2 (lhs: batch and input feature; rhs: input feature and output feature), got rank 1}}
  %0 = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 0, input_spatial_dimensions = [], kernel_input_feature_dimension = 0, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [], output_batch_dimension = 0, output_feature_dimension = 0, output_spatial_dimensions = []>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// convolution_c2
func.func @convolution_c2(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op window_strides must have one entry for each spatial dimension, got 1 for 2}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c3
func.func @convolution_c3(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op window_strides must be at least 1, got 0 at index 1}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 0]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c4
func.func @convolution_c4(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op padding must have two entries for each dimension, shape [2, 2], got [1, 2]}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c5
func.func @convolution_c5(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op lhs_dilation must have one entry for each spatial dimension, got 3 for 2}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {lhs_dilate = [1, 1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c6
func.func @convolution_c6(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op lhs_dilation must be at least 1, got 0 at index 0}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {lhs_dilate = [0, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c7
func.func @convolution_c7(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op rhs_dilation must have one entry for each spatial dimension, got 0 for 2}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {rhs_dilate = []} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c8
func.func @convolution_c8(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op rhs_dilation must be at least 1, got -1 at index 1}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {rhs_dilate = [1, -1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c9
func.func @convolution_c9(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op window_reversal must have one entry for each spatial dimension, got 1 for 2}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c10
func.func @convolution_c10(%a: tensor<3x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op batch size of lhs must be divisible by batch_group_count, got 3 and 2}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<3x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c11
func.func @convolution_c11(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op number of features of lhs must be divisible by feature_group_count, got 4 and 3}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c12
func.func @convolution_c12(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op input_spatial_dimensions must list all but two dimensions of lhs, got 1 of 4}}
  %0 = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c13
func.func @convolution_c13(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op dimension numbers of lhs must be unique, got 0 twice}}
  %0 = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 0, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c13
func.func @convolution_c13_2(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op dimension numbers of lhs must be dimensions of lhs, in [0, 4), got 4}}
  %0 = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 4, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c13
func.func @convolution_c13_3(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op dimension numbers of lhs must be dimensions of lhs, in [0, 4), got -1}}
  %0 = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = -1, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c14
func.func @convolution_c14(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x3x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op rhs must have as many input features as one feature group of lhs, 4, got 3}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x3x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c15
func.func @convolution_c15(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x7xf32>) {
  // expected-error@below {{'stablehlo.convolution' op number of output features of rhs must be divisible by batch_group_count, got 7 and 2}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x7xf32>) -> tensor<1x6x6x7xf32>
  return
}

// -----

// convolution_c16
func.func @convolution_c16(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x2x7xf32>) {
  // expected-error@below {{'stablehlo.convolution' op number of output features of rhs must be divisible by feature_group_count, got 7 and 2}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x2x7xf32>) -> tensor<1x6x6x7xf32>
  return
}

// -----

// convolution_c17
func.func @convolution_c17(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op kernel_spatial_dimensions must list all but two dimensions of rhs, got 1 of 4}}
  %0 = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c18
func.func @convolution_c18(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op dimension numbers of rhs must be unique, got 2 twice}}
  %0 = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 2, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c18
func.func @convolution_c18_2(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op dimension numbers of rhs must be dimensions of rhs, in [0, 4), got 4}}
  %0 = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 4, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c19
func.func @convolution_c19(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op output_spatial_dimensions must list all but two dimensions of the result, got 3 of 4}}
  %0 = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c20
func.func @convolution_c20(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op dimension numbers of the result must be unique, got 1 twice}}
  %0 = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 1]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c20
func.func @convolution_c20_2(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op dimension numbers of the result must be dimensions of the result, in [0, 4), got 9}}
  %0 = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 9]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c21
func.func @convolution_c21(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op feature_group_count must be at least 1, got 0}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 0 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c22
func.func @convolution_c22(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op batch_group_count must be at least 1, got -1}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = -1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c23
func.func @convolution_c23(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op feature_group_count or batch_group_count must be 1, got 2 and 2}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 2 : i64, feature_group_count = 2 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c24
func.func @convolution_c24(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op precision_config must have one entry for each of the 2 operands, got 1}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>]} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c25
func.func @convolution_c25(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op result must have the shape [1, 6, 6, 8] that the window determines, got [1, 6, 7, 8]}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x7x8xf32>
  return
}

// -----

// convolution_c25
func.func @convolution_c25_2(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op result must have the shape [1, 6, 6, 8] that the window determines, got [2, 6, 6, 8]}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<2x6x6x8xf32>
  return
}

// -----

// convolution_c25
func.func @convolution_c25_3(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op result must have the shape [1, 6, 6, 8] that the window determines, got [1, 6, 6, 9]}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x9xf32>
  return
}

// -----

// convolution_c25
func.func @convolution_c25_4(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op result must have the shape [1, 8, 8, 8] that the window determines, got [1, 6, 6, 8]}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c25
func.func @convolution_c25_5(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op padded and dilated sizes must be less than 2^63, got input 8 and kernel 3 in spatial dimension 0}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {rhs_dilate = [9223372036854775807, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c26
func.func @convolution_c26(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op result must have the rank of the operands, 4, got 3}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6xf32>
  return
}

// -----

// convolution_c27
func.func @convolution_c27(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x8xi32>) {
  // expected-error@below {{'stablehlo.convolution' op operands must be the same kind of number, got 'f32', 'i32' and 'f32'}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xi32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c28
func.func @convolution_c28(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, %b: tensor<3x3x4x8xf32>) {
  // expected-error@below {{'stablehlo.convolution' op rhs must be quantized, and lhs must be quantized if and only if the result is, got '!quant.uniform<i8:f32, 1.000000e+00>', 'f32' and 'f32'}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return
}

// -----

// convolution_c29
func.func @convolution_c29(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, %b: tensor<3x3x4x8x!quant.uniform<i8:f32:0, {1.0, 1.0, 1.0}>>) {
  // expected-error@below {{'stablehlo.convolution' op rhs must be quantized along its output feature dimension, 3, got dimension 0}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, tensor<3x3x4x8x!quant.uniform<i8:f32:0, {1.0, 1.0, 1.0}>>) -> tensor<1x6x6x8x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

// convolution_c30
func.func @convolution_c30(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, %b: tensor<3x3x4x8x!quant.uniform<i8:f32:3, {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}>>) {
  // expected-error@below {{'stablehlo.convolution' op result must be quantized along its feature dimension, 3, got dimension 1}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, tensor<3x3x4x8x!quant.uniform<i8:f32:3, {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}>>) -> tensor<1x6x6x8x!quant.uniform<i8:f32:1, {1.0, 1.0, 1.0, 1.0, 1.0, 1.0}>>
  return
}

// -----

// convolution_c31
func.func @convolution_c31(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, %b: tensor<3x3x4x8x!quant.uniform<i16:f32, 1.0>>) {
  // expected-error@below {{'stablehlo.convolution' op lhs and rhs must have the same storage type, got '!quant.uniform<i8:f32, 1.000000e+00>', '!quant.uniform<i16:f32, 1.000000e+00>' and '!quant.uniform<i8:f32, 1.000000e+00>'}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, tensor<3x3x4x8x!quant.uniform<i16:f32, 1.0>>) -> tensor<1x6x6x8x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

// convolution_c32
func.func @convolution_c32(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, %b: tensor<3x3x4x8x!quant.uniform<i8:f64, 1.0>>) {
  // expected-error@below {{'stablehlo.convolution' op operands and result must have the same expressed type, got '!quant.uniform<i8:f32, 1.000000e+00>', '!quant.uniform<i8:f64, 1.000000e+00>' and '!quant.uniform<i8:f32, 1.000000e+00>'}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, tensor<3x3x4x8x!quant.uniform<i8:f64, 1.0>>) -> tensor<1x6x6x8x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

// convolution_c33
func.func @convolution_c33(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, %b: tensor<3x3x4x8x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@below {{'stablehlo.convolution' op result must be quantized per tensor if rhs is, got '!quant.uniform<i8:f32, 1.000000e+00>', '!quant.uniform<i8:f32, 1.000000e+00>' and '!quant.uniform<i8:f32:3, {1.000000e+00,1.000000e+00,1.000000e+00,1.000000e+00,1.000000e+00,1.000000e+00,1.000000e+00,1.000000e+00}>'}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4x!quant.uniform<i8:f32, 1.0>>, tensor<3x3x4x8x!quant.uniform<i8:f32, 1.0>>) -> tensor<1x6x6x8x!quant.uniform<i8:f32:3, {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}>>
  return
}

// -----

// convolution_c34
func.func @convolution_c34(%a: tensor<1x8x8x4xf64>, %b: tensor<3x3x4x8x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@below {{'stablehlo.convolution' op lhs and result must have the expressed type of rhs, got 'f64', '!quant.uniform<i8:f32, 1.000000e+00>' and 'f64'}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf64>, tensor<3x3x4x8x!quant.uniform<i8:f32, 1.0>>) -> tensor<1x6x6x8xf64>
  return
}
