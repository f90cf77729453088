// RUN: tilewright-opt %s --pass-pipeline='builtin.module(simplify,func.func(fuse-split-reduce))' \
// RUN:   --compile.log-passes=simplify,fuse-split-reduce -o /dev/null 2>&1 | FileCheck %s
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(simplify,func.func(fuse-split-reduce))' \
// RUN:   --compile.log-passes=fuse,tile -o /dev/null 2>&1 | FileCheck %s --check-prefix=FUSE --implicit-check-not=simplify
// RUN: tilewright-opt %s --simplify | FileCheck %s --check-prefix=OFF

/// A pattern gives a reason with the value that it depends on, a pass with the numbers that it compares. A line names the
/// pass, the op and its place.

// CHECK-DAG: simplify-canonicalize: 'stablehlo.divide' at {{.*}}log-passes.mlir:[[#@LINE+12]]:8: simplifyDivide does not apply: the inverse of 3.000000e+00 : f32 is not exact or is subnormal
// CHECK-DAG: simplify-canonicalize: 'stablehlo.add' at {{.*}}log-passes.mlir:[[#@LINE+12]]:8: constantToTheRight applies
// CHECK-DAG: simplify-canonicalize: 'stablehlo.add' at {{.*}}log-passes.mlir:[[#@LINE+11]]:8: FoldConstants does not apply: an operand is not constant
//     CHECK: fuse-split-reduce: 'stablehlo.reduce' at {{.*}}: is not split: it reduces tensor<1000xf32> to tensor<f32>, but a split needs 65536 elements and fewer than 64 points of a grid

// FUSE: fuse-split-reduce: 'stablehlo.reduce' at {{.*}}: is not split
// FUSE: compile.log-passes: no decision of 'tile' was logged

// OFF-NOT: simplify-canonicalize
func.func @main(%x: tensor<1000xf32>) -> (tensor<1000xf32>, tensor<f32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %c = stablehlo.constant dense<3.0> : tensor<1000xf32>
  %d = stablehlo.divide %x, %c : tensor<1000xf32>
  %s = stablehlo.add %c, %d : tensor<1000xf32>
  %r = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [0] : (tensor<1000xf32>, tensor<f32>) -> tensor<f32>
  return %s, %r : tensor<1000xf32>, tensor<f32>
}
