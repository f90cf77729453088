// RUN: tilewright-opt %s --split-input-file --verify-diagnostics

func.func @operands(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{@ragged_all_to_all must have 6 operands and 1 result, got 1 and 1}}
  %y = stablehlo.custom_call @ragged_all_to_all(%x) {api_version = 4 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @rows(%x: tensor<4x2xf32>, %out: tensor<6x3xf32>, %list: tensor<2xi32>) -> tensor<6x3xf32> {
  // expected-error@+1 {{@ragged_all_to_all must send rows of the result's type, got 'tensor<4x2xf32>', 'tensor<6x3xf32>' and 'tensor<6x3xf32>'}}
  %y = stablehlo.custom_call @ragged_all_to_all(%x, %out, %list, %list, %list, %list) {api_version = 4 : i32}
      : (tensor<4x2xf32>, tensor<6x3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<6x3xf32>
  return %y : tensor<6x3xf32>
}

// -----

func.func @lists(%x: tensor<4xf32>, %out: tensor<6xf32>, %list: tensor<2xi32>, %long: tensor<4xi32>) -> tensor<6xf32> {
  // expected-error@+1 {{@ragged_all_to_all must have four lists of the same length with integers of at least 8 bits, got 'tensor<2xi32>' and 'tensor<4xi32>'}}
  %y = stablehlo.custom_call @ragged_all_to_all(%x, %out, %list, %list, %long, %list) {api_version = 4 : i32}
      : (tensor<4xf32>, tensor<6xf32>, tensor<2xi32>, tensor<2xi32>, tensor<4xi32>, tensor<2xi32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}

// -----

func.func @groups(%x: tensor<4xf32>, %out: tensor<6xf32>, %list: tensor<2xi32>) -> tensor<6xf32> {
  // expected-error@+1 {{@ragged_all_to_all must have replica_groups, 64-bit integers, in its backend_config}}
  %y = stablehlo.custom_call @ragged_all_to_all(%x, %out, %list, %list, %list, %list) {api_version = 4 : i32}
      : (tensor<4xf32>, tensor<6xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}

// -----

func.func @size(%x: tensor<4xf32>, %out: tensor<6xf32>, %list: tensor<2xi32>) -> tensor<6xf32> {
  // expected-error@+1 {{@ragged_all_to_all must have lists whose length is a multiple of the size of a group, got 2 and 3}}
  %y = stablehlo.custom_call @ragged_all_to_all(%x, %out, %list, %list, %list, %list) {api_version = 4 : i32,
      backend_config = {replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>}}
      : (tensor<4xf32>, tensor<6xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}
