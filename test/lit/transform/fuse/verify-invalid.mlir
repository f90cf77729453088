// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(fuse-verify))' --verify-diagnostics --split-input-file

/// Elementwise ops in fusions, the others beside them.
func.func @fused(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = exec.fusion "f"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: tensor<4x4xf32>):
    %b = stablehlo.add %a, %a : tensor<4x4xf32>
    exec.yield %b : tensor<4x4xf32>
  }
  %1 = stablehlo.cholesky %0 : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

func.func @alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{E2010 fuse: 'stablehlo.add' is not in a fusion, but should be}}
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @not_a_kernel(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = exec.fusion "f"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: tensor<4x4xf32>):
    // expected-error@+1 {{E2010 fuse: 'stablehlo.cholesky' is in a fusion, but no kernel can be generated for it}}
    %c = stablehlo.cholesky %a : tensor<4x4xf32>
    exec.yield %c : tensor<4x4xf32>
  }
  return %0 : tensor<4x4xf32>
}

// -----

/// A GPU has no library, so a product is in a fusion there.
module attributes {exec.target = #exec.target<chip = "sm_90a", units = 132, gpu = <>>} {
  func.func @product(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = exec.fusion "dot"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
    ^bb0(%a: tensor<4x4xf32>):
      %d = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      exec.yield %d : tensor<4x4xf32>
    }
    return %0 : tensor<4x4xf32>
  }
}

// -----

func.func @product_on_a_cpu(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = exec.fusion "dot"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: tensor<4x4xf32>):
    // expected-error@+1 {{E2010 fuse: 'stablehlo.dot_general' is in a fusion, but no kernel can be generated for it}}
    %d = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    exec.yield %d : tensor<4x4xf32>
  }
  return %0 : tensor<4x4xf32>
}
