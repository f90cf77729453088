// RUN: tilewright-opt %s --verify-diagnostics --split-input-file

/// The body sees what the fusion is given.
func.func @arguments(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{expects one block argument of the same type for each input, got 'tensor<4xf32>' for 'tensor<8xf32>'}}
  %r = exec.fusion "f"(%a) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%x: tensor<4xf32>):
    %c = stablehlo.constant dense<0.0> : tensor<8xf32>
    exec.yield %c : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

/// … and gives what the fusion announces.
func.func @results(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{yields 'tensor<8xf32>', 'tensor<8xf32>', but its results have types 'tensor<8xf32>'}}
  %r = exec.fusion "f"(%a) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%x: tensor<8xf32>):
    exec.yield %x, %x : tensor<8xf32>, tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

/// Values come in as inputs only: a kernel has no other way to them.
func.func @isolated(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-note@+1 {{required by region isolation constraints}}
  %r = exec.fusion "f"() : () -> tensor<8xf32> {
    // expected-error@+1 {{using value defined outside the region}}
    %s = stablehlo.add %a, %a : tensor<8xf32>
    exec.yield %s : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

func.func @no_kernel(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{launches 'nobody', which is not in the module}}
  %r = exec.launch @nobody(%a) : (tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
