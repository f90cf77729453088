// RUN: not tilewright-opt %s --fuse-verify 2>&1 | FileCheck %s

/// An op that no fusion took and no library has must not leave the stage.

// CHECK: E2010 fuse: 'stablehlo.add'

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
