// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(fuse-verify))' --verify-diagnostics --split-input-file

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
