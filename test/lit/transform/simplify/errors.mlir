// RUN: not tilewright-opt %s --simplify-inline=max-ops=3 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not tilewright-opt %s --simplify-verify 2>&1 | FileCheck %s --check-prefix=LEFT

/// Calls of calls can make a program larger than any memory.

// SIZE: E2001 simplify: '@main' has {{[0-9]+}} operations once its calls are inlined, but the limit is 3; raise simplify.max-ops

/// What a later stage does not know must not leave this one.

// LEFT: E2002 simplify: 'func.call' is a call that should have been inlined

func.func private @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = call @twice(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = call @twice(%0) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = call @twice(%1) : (tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
