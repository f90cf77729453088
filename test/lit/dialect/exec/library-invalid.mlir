// RUN: tilewright-opt %s --verify-diagnostics --split-input-file

/// A combiner that is a function needs the function.
func.func @no_body(%a: tensor<8xf32>, %z: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'exec.reduce' op calls 1 functions, but 'bodies' lists 0}}
  %r = exec.reduce(%a, %z) {dimensions = array<i64: 0>, body = #exec.combiner<function>} : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

/// A comparator that is known has none.
func.func @unused_body(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'exec.sort' op calls 0 functions, but 'bodies' lists 1}}
  %r = exec.sort(%a) {dimension = 0 : i64, comparator = #exec.comparator<lt>, bodies = [@f]} : (tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

func.func @odd_aliases(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'exec.sort' op expects pairs of a result and an operand in 'aliases', got an odd number of entries, 1}}
  %r = exec.sort(%a) {dimension = 0 : i64, comparator = #exec.comparator<lt>, aliases = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

func.func @aliases_nothing(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'exec.sort' op has an alias of result 0 and operand 1, but only 1 results and 1 operands}}
  %r = exec.sort(%a) {dimension = 0 : i64, comparator = #exec.comparator<lt>, aliases = array<i64: 0, 1>} : (tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

func.func @unknown_name(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+2 {{unknown Comparator 'le'}}
  // expected-error@+1 {{failed to parse Exec_ComparatorAttr parameter 'value'}}
  %r = exec.sort(%a) {dimension = 0 : i64, comparator = #exec.comparator<le>} : (tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
