// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

/// Each case breaks one constraint of a solver, of fft or of batch normalization.

// cholesky_c1
func.func @cholesky_c1(%a: tensor<3x3xf32>) {
  // expected-error@below {{'stablehlo.cholesky' op result must have the shape of a, [3, 3], got [4, 4]}}
  %0 = stablehlo.cholesky %a : (tensor<3x3xf32>) -> tensor<4x4xf32>
  return
}

// -----

// cholesky_c1
func.func @cholesky_c1_2(%a: tensor<3x3xf32>) {
  // expected-error@below {{'stablehlo.cholesky' op operands and results must have the same element type, got 'tensor<3x3xf32>' and 'tensor<3x3xf64>'}}
  %0 = stablehlo.cholesky %a : (tensor<3x3xf32>) -> tensor<3x3xf64>
  return
}

// -----

// cholesky_c2
func.func @cholesky_c2(%a: tensor<3xf32>) {
  // expected-error@below {{'stablehlo.cholesky' op a must be a matrix or a batch of matrices, got 'tensor<3xf32>'}}
  %0 = stablehlo.cholesky %a : tensor<3xf32>
  return
}

// -----

// cholesky_c3
func.func @cholesky_c3(%a: tensor<2x3x4xf32>) {
  // expected-error@below {{'stablehlo.cholesky' op matrices of a must be square, got [3, 4]}}
  %0 = stablehlo.cholesky %a : tensor<2x3x4xf32>
  return
}

// -----

// triangular_solve_c1
func.func @triangular_solve_c1(%a: tensor<3x3xf32>, %b: tensor<3x2xf64>) {
  // expected-error@below {{'stablehlo.triangular_solve' op operands and results must have the same element type, got 'tensor<3x3xf32>' and 'tensor<3x2xf64>'}}
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x3xf32>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return
}

// -----

// triangular_solve_c2
func.func @triangular_solve_c2(%a: tensor<3x3xf32>, %b: tensor<2x3x2xf32>) {
  // expected-error@below {{'stablehlo.triangular_solve' op a and b must have the same rank, got 2 and 3}}
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x3xf32>, tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
  return
}

// -----

// triangular_solve_c2
func.func @triangular_solve_c2_2(%a: tensor<3xf32>, %b: tensor<3xf32>) {
  // expected-error@below {{'stablehlo.triangular_solve' op a must be a matrix or a batch of matrices, got 'tensor<3xf32>'}}
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

// triangular_solve_c3
func.func @triangular_solve_c3(%a: tensor<2x3x3xf32>, %b: tensor<4x3x2xf32>) {
  // expected-error@below {{'stablehlo.triangular_solve' op a and b must have the same batch dimensions, got [2] and [4]}}
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x3x3xf32>, tensor<4x3x2xf32>) -> tensor<4x3x2xf32>
  return
}

// -----

// triangular_solve_c3
func.func @triangular_solve_c3_2(%a: tensor<3x4xf32>, %b: tensor<3x2xf32>) {
  // expected-error@below {{'stablehlo.triangular_solve' op matrices of a must be square, got [3, 4]}}
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x4xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

// triangular_solve_c3
func.func @triangular_solve_c3_3(%a: tensor<3x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@below {{'stablehlo.triangular_solve' op dimension 0 of b must have the size of a's matrices, 3, got 2}}
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// triangular_solve_c3
func.func @triangular_solve_c3_4(%a: tensor<3x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error@below {{'stablehlo.triangular_solve' op dimension 1 of b must have the size of a's matrices, 3, got 2}}
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = false, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

// triangular_solve_c4
func.func @triangular_solve_c4(%a: tensor<3x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error@below {{'stablehlo.triangular_solve' op result must have the shape of b, [3, 2], got [2, 3]}}
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

// triangular_solve_i6
func.func @triangular_solve_i6(%a: tensor<3x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error@below {{'stablehlo.triangular_solve' op transpose_a must be NO_TRANSPOSE, TRANSPOSE or ADJOINT, got TRANSPOSE_INVALID}}
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE_INVALID>}> : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

// fft_c1
func.func @fft_c1(%a: tensor<8xcomplex<f32>>) {
  // expected-error@below {{'stablehlo.fft' op fft_length must have at most one entry for each dimension of the operand, got 2 for 1}}
  %0 = stablehlo.fft %a, type = FFT, length = [8, 8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return
}

// -----

// fft_c2
func.func @fft_c2(%a: tensor<8xcomplex<f32>>) {
  // expected-error@below {{'stablehlo.fft' op FFT must transform complex numbers to the same type, got 'complex<f32>' and 'complex<f64>'}}
  %0 = stablehlo.fft %a, type = FFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f64>>
  return
}

// -----

// fft_c2
func.func @fft_c2_2(%a: tensor<8xf32>) {
  // expected-error@below {{'stablehlo.fft' op IFFT must transform complex numbers to the same type, got 'f32' and 'complex<f32>'}}
  %0 = stablehlo.fft %a, type = IFFT, length = [8] : (tensor<8xf32>) -> tensor<8xcomplex<f32>>
  return
}

// -----

// fft_c2
func.func @fft_c2_3(%a: tensor<8xcomplex<f32>>) {
  // expected-error@below {{'stablehlo.fft' op RFFT must transform floats to complex numbers of the same precision, got 'complex<f32>' and 'complex<f32>'}}
  %0 = stablehlo.fft %a, type = RFFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<5xcomplex<f32>>
  return
}

// -----

// fft_c2
func.func @fft_c2_4(%a: tensor<8xf32>) {
  // expected-error@below {{'stablehlo.fft' op RFFT must transform floats to complex numbers of the same precision, got 'f32' and 'complex<f64>'}}
  %0 = stablehlo.fft %a, type = RFFT, length = [8] : (tensor<8xf32>) -> tensor<5xcomplex<f64>>
  return
}

// -----

// fft_c2
func.func @fft_c2_5(%a: tensor<5xcomplex<f32>>) {
  // expected-error@below {{'stablehlo.fft' op IRFFT must transform complex numbers to floats of the same precision, got 'complex<f32>' and 'f64'}}
  %0 = stablehlo.fft %a, type = IRFFT, length = [8] : (tensor<5xcomplex<f32>>) -> tensor<8xf64>
  return
}

// -----

// fft_c3
func.func @fft_c3(%a: tensor<8xcomplex<f32>>) {
  // expected-error@below {{'stablehlo.fft' op fft_length must have 1 to 3 entries, got 0}}
  %0 = stablehlo.fft %a, type = FFT, length = [] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return
}

// -----

// fft_c3
func.func @fft_c3_2(%a: tensor<8x8x8x8xcomplex<f32>>) {
  // expected-error@below {{'stablehlo.fft' op fft_length must have 1 to 3 entries, got 4}}
  %0 = stablehlo.fft %a, type = FFT, length = [8, 8, 8, 8] : (tensor<8x8x8x8xcomplex<f32>>) -> tensor<8x8x8x8xcomplex<f32>>
  return
}

// -----

// fft_c4
func.func @fft_c4(%a: tensor<8xf32>) {
  // expected-error@below {{'stablehlo.fft' op the last dimensions of the real tensor must have the sizes given by fft_length, [9], got [8]}}
  %0 = stablehlo.fft %a, type = RFFT, length = [9] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
  return
}

// -----

// fft_c4
func.func @fft_c4_2(%a: tensor<5xcomplex<f32>>) {
  // expected-error@below {{'stablehlo.fft' op the last dimensions of the real tensor must have the sizes given by fft_length, [9], got [8]}}
  %0 = stablehlo.fft %a, type = IRFFT, length = [9] : (tensor<5xcomplex<f32>>) -> tensor<8xf32>
  return
}

// -----

// fft_c4
func.func @fft_c4_3(%a: tensor<8xf32>) {
  // expected-error@below {{'stablehlo.fft' op fft_length must not be negative, got -9223372036854775808}}
  %0 = stablehlo.fft %a, type = RFFT, length = [-9223372036854775808] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
  return
}

// -----

// fft_c5
func.func @fft_c5(%a: tensor<8xcomplex<f32>>) {
  // expected-error@below {{'stablehlo.fft' op result must have the transformed shape, [8], got [9]}}
  %0 = stablehlo.fft %a, type = FFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<9xcomplex<f32>>
  return
}

// -----

// fft_c5
func.func @fft_c5_2(%a: tensor<8xcomplex<f32>>) {
  // expected-error@below {{'stablehlo.fft' op operand and result must have the same rank, got 1 and 2}}
  %0 = stablehlo.fft %a, type = FFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8x8xcomplex<f32>>
  return
}

// -----

// fft_c5
func.func @fft_c5_3(%a: tensor<8xf32>) {
  // expected-error@below {{'stablehlo.fft' op result must have the transformed shape, [5], got [8]}}
  %0 = stablehlo.fft %a, type = RFFT, length = [8] : (tensor<8xf32>) -> tensor<8xcomplex<f32>>
  return
}

// -----

// fft_c5
func.func @fft_c5_4(%a: tensor<6xcomplex<f32>>) {
  // expected-error@below {{'stablehlo.fft' op last dimension of the operand must have fft_length / 2 + 1 entries, 5, got 6}}
  %0 = stablehlo.fft %a, type = IRFFT, length = [8] : (tensor<6xcomplex<f32>>) -> tensor<8xf32>
  return
}

// -----

// batch_norm_inference_c1
func.func @batch_norm_inference_c1(%a: tensor<4x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %d: tensor<2xf32>, %e: tensor<2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_inference' op feature_index must be a dimension of the operand, in [0, 2), got 2}}
  %0 = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return
}

// -----

// batch_norm_inference_c1
func.func @batch_norm_inference_c1_2(%a: tensor<4x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %d: tensor<2xf32>, %e: tensor<2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_inference' op feature_index must be a dimension of the operand, in [0, 2), got -1}}
  %0 = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.000000e-03 : f32, feature_index = -1 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return
}

// -----

// batch_norm_inference_c2
func.func @batch_norm_inference_c2(%a: tensor<4x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %d: tensor<2xf64>, %e: tensor<2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_inference' op operands and results must have the same element type, got 'tensor<4x2xf32>' and 'tensor<2xf64>'}}
  %0 = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf64>, tensor<2xf32>) -> tensor<4x2xf32>
  return
}

// -----

// batch_norm_inference_c3
func.func @batch_norm_inference_c3(%a: tensor<4x2xf32>, %b: tensor<3xf32>, %c: tensor<2xf32>, %d: tensor<2xf32>, %e: tensor<2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_inference' op scale must have one entry for each feature, 2, got 3}}
  %0 = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return
}

// -----

// batch_norm_inference_c4
func.func @batch_norm_inference_c4(%a: tensor<4x2xf32>, %b: tensor<2xf32>, %c: tensor<3xf32>, %d: tensor<2xf32>, %e: tensor<2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_inference' op offset must have one entry for each feature, 2, got 3}}
  %0 = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return
}

// -----

// batch_norm_inference_c5
func.func @batch_norm_inference_c5(%a: tensor<4x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %d: tensor<3xf32>, %e: tensor<2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_inference' op mean must have one entry for each feature, 2, got 3}}
  %0 = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return
}

// -----

// batch_norm_inference_c6
func.func @batch_norm_inference_c6(%a: tensor<4x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %d: tensor<2xf32>, %e: tensor<3xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_inference' op variance must have one entry for each feature, 2, got 3}}
  %0 = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3xf32>) -> tensor<4x2xf32>
  return
}

// -----

// batch_norm_inference_c7
func.func @batch_norm_inference_c7(%a: tensor<4x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %d: tensor<2xf32>, %e: tensor<2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_inference' op result must have the shape of the operand, [4, 2], got [2, 4]}}
  %0 = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// batch_norm_training_c1
func.func @batch_norm_training_c1(%a: tensor<4x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_training' op feature_index must be a dimension of the operand, in [0, 2), got 2}}
  %0:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

// batch_norm_training_c2
func.func @batch_norm_training_c2(%a: tensor<4x2xf32>, %b: tensor<2xf64>, %c: tensor<2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_training' op operands and results must have the same element type, got 'tensor<4x2xf32>' and 'tensor<2xf64>'}}
  %0:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<2xf64>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

// batch_norm_training_c3
func.func @batch_norm_training_c3(%a: tensor<4x2xf32>, %b: tensor<3xf32>, %c: tensor<2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_training' op scale must have one entry for each feature, 2, got 3}}
  %0:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<3xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

// batch_norm_training_c4
func.func @batch_norm_training_c4(%a: tensor<4x2xf32>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_training' op offset must have one entry for each feature, 2, got 3}}
  %0:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<3xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

// batch_norm_training_c5
func.func @batch_norm_training_c5(%a: tensor<4x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_training' op batch_mean must have one entry for each feature, 2, got 3}}
  %0:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<3xf32>, tensor<2xf32>)
  return
}

// -----

// batch_norm_training_c6
func.func @batch_norm_training_c6(%a: tensor<4x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_training' op batch_var must have one entry for each feature, 2, got 3}}
  %0:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<3xf32>)
  return
}

// -----

// batch_norm_training_c7
func.func @batch_norm_training_c7(%a: tensor<4x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_training' op output must have the shape of the operand, [4, 2], got [2, 4]}}
  %0:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

// batch_norm_grad_c1
func.func @batch_norm_grad_c1(%a: tensor<4x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %d: tensor<2xf32>, %e: tensor<4x2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_grad' op feature_index must be a dimension of the operand, in [0, 2), got 2}}
  %0:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

// batch_norm_grad_c2
func.func @batch_norm_grad_c2(%a: tensor<4x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf64>, %d: tensor<2xf32>, %e: tensor<4x2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_grad' op operands and results must have the same element type, got 'tensor<4x2xf32>' and 'tensor<2xf64>'}}
  %0:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf64>, tensor<2xf32>, tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

// batch_norm_grad_c3
func.func @batch_norm_grad_c3(%a: tensor<4x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %d: tensor<2xf32>, %e: tensor<2x4xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_grad' op grad_output must have the shape of the operand, [4, 2], got [2, 4]}}
  %0:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x4xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

// batch_norm_grad_c3
func.func @batch_norm_grad_c3_2(%a: tensor<4x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %d: tensor<2xf32>, %e: tensor<4x2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_grad' op grad_operand must have the shape of the operand, [4, 2], got [2, 4]}}
  %0:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

// batch_norm_grad_c4
func.func @batch_norm_grad_c4(%a: tensor<4x2xf32>, %b: tensor<2xf32>, %c: tensor<3xf32>, %d: tensor<2xf32>, %e: tensor<4x2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_grad' op mean must have one entry for each feature, 2, got 3}}
  %0:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<3xf32>, tensor<2xf32>, tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

// batch_norm_grad_c4
func.func @batch_norm_grad_c4_2(%a: tensor<4x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %d: tensor<3xf32>, %e: tensor<4x2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_grad' op variance must have one entry for each feature, 2, got 3}}
  %0:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3xf32>, tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

// batch_norm_grad_c4
func.func @batch_norm_grad_c4_3(%a: tensor<4x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %d: tensor<2xf32>, %e: tensor<4x2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_grad' op grad_scale must have one entry for each feature, 2, got 3}}
  %0:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<3xf32>, tensor<2xf32>)
  return
}

// -----

// batch_norm_grad_c4
func.func @batch_norm_grad_c4_4(%a: tensor<4x2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %d: tensor<2xf32>, %e: tensor<4x2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_grad' op grad_offset must have one entry for each feature, 2, got 3}}
  %0:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<3xf32>)
  return
}

// -----

// batch_norm_grad_c5
func.func @batch_norm_grad_c5(%a: tensor<4x2xf32>, %b: tensor<3xf32>, %c: tensor<2xf32>, %d: tensor<2xf32>, %e: tensor<4x2xf32>) {
  // expected-error@below {{'stablehlo.batch_norm_grad' op scale must have one entry for each feature, 2, got 3}}
  %0:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}
