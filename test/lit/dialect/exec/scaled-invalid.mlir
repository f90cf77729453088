// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

func.func @block(%x: tensor<4x32xf8E4M3FN>, %y: tensor<6x32xf8E4M3FN>) -> tensor<4x6xf32> {
  // expected-error@+1 {{needs a block of at least one element, got 0}}
  %0 = exec.scaled_dot %x, %y block 0 as bf16 {lhs_batching_dimensions = array<i64>, rhs_batching_dimensions = array<i64>, lhs_contracting_dimension = 1 : i64, rhs_contracting_dimension = 1 : i64} : tensor<4x32xf8E4M3FN>, tensor<6x32xf8E4M3FN> -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

func.func @factors(%x: tensor<4x32xf8E4M3FN>, %y: tensor<6x32xf8E4M3FN>) -> tensor<4x6xf32> {
  // expected-error@+1 {{needs factors of bf16 or f32, got 'f16'}}
  %0 = exec.scaled_dot %x, %y block 16 as f16 {lhs_batching_dimensions = array<i64>, rhs_batching_dimensions = array<i64>, lhs_contracting_dimension = 1 : i64, rhs_contracting_dimension = 1 : i64} : tensor<4x32xf8E4M3FN>, tensor<6x32xf8E4M3FN> -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

func.func @scales(%x: tensor<4x40xf8E4M3FN>, %y: tensor<6x40xf8E4M3FN>, %s: tensor<4x2xf8E8M0FNU>) -> tensor<4x6xf32> {
  // expected-error@+1 {{needs scales of lhs of a float type and the shape 'tensor<4x3xf8E8M0FNU>', or with 1 along dimensions that are not contracted, got 'tensor<4x2xf8E8M0FNU>'}}
  %0 = exec.scaled_dot %x, %y scaled(%s : tensor<4x2xf8E8M0FNU>) block 16 as bf16 {lhs_batching_dimensions = array<i64>, rhs_batching_dimensions = array<i64>, lhs_contracting_dimension = 1 : i64, rhs_contracting_dimension = 1 : i64} : tensor<4x40xf8E4M3FN>, tensor<6x40xf8E4M3FN> -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

func.func @dimension(%x: tensor<4x32xf8E4M3FN>, %y: tensor<6x32xf8E4M3FN>) -> tensor<4x6xf32> {
  // expected-error@+1 {{names dimension 2 of rhs, 'tensor<6x32xf8E4M3FN>', which must exist and be named once}}
  %0 = exec.scaled_dot %x, %y block 16 as bf16 {lhs_batching_dimensions = array<i64>, rhs_batching_dimensions = array<i64>, lhs_contracting_dimension = 1 : i64, rhs_contracting_dimension = 2 : i64} : tensor<4x32xf8E4M3FN>, tensor<6x32xf8E4M3FN> -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

func.func @pairs(%x: tensor<4x32xf8E4M3FN>, %y: tensor<6x16xf8E4M3FN>) -> tensor<4x6xf32> {
  // expected-error@+1 {{needs batching and contracting dimensions of equal sizes, got lhs 'tensor<4x32xf8E4M3FN>' and rhs 'tensor<6x16xf8E4M3FN>'}}
  %0 = exec.scaled_dot %x, %y block 16 as bf16 {lhs_batching_dimensions = array<i64>, rhs_batching_dimensions = array<i64>, lhs_contracting_dimension = 1 : i64, rhs_contracting_dimension = 1 : i64} : tensor<4x32xf8E4M3FN>, tensor<6x16xf8E4M3FN> -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

func.func @result(%x: tensor<4x32xf8E4M3FN>, %y: tensor<6x32xf8E4M3FN>) -> tensor<6x4xf32> {
  // expected-error@+1 {{needs a result of a float type and the shape 'tensor<4x6xf32>', got 'tensor<6x4xf32>'}}
  %0 = exec.scaled_dot %x, %y block 16 as bf16 {lhs_batching_dimensions = array<i64>, rhs_batching_dimensions = array<i64>, lhs_contracting_dimension = 1 : i64, rhs_contracting_dimension = 1 : i64} : tensor<4x32xf8E4M3FN>, tensor<6x32xf8E4M3FN> -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}
