/// Products with ordered scales have the values of the expression: rows in two groups of 128, blocks in two of 4.
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(nvptx-attach-target{chip=sm_120a},func.func(fuse-scaled-products,fuse-order-scales))' -o %t.mlir
// RUN: FileCheck %s --check-prefix=OP < %t.mlir
// RUN: tilewright run %t.mlir --on=evaluator > %t.op
// RUN: tilewright run %s --on=evaluator > %t.expression
// RUN: diff %t.op %t.expression
// RUN: FileCheck %s < %t.op

// OP: exec.scaled_matmul {{.*}} by f8E4M3FN block 16
// CHECK: tensor<2x4x4xf32> {{.*}}[8844, -3912, -610, 2073]
func.func public @main() -> tensor<2x4x4xf32> {
  %xb = stablehlo.iota dim = 0 : tensor<2x130x80xi32>
  %xr = stablehlo.iota dim = 1 : tensor<2x130x80xi32>
  %xk = stablehlo.iota dim = 2 : tensor<2x130x80xi32>
  %x7 = stablehlo.constant dense<7> : tensor<2x130x80xi32>
  %x13 = stablehlo.constant dense<13> : tensor<2x130x80xi32>
  %x6 = stablehlo.constant dense<6> : tensor<2x130x80xi32>
  %x0 = stablehlo.multiply %xr, %x7 : tensor<2x130x80xi32>
  %x1 = stablehlo.add %x0, %xk : tensor<2x130x80xi32>
  %x2 = stablehlo.add %x1, %xb : tensor<2x130x80xi32>
  %x3 = stablehlo.remainder %x2, %x13 : tensor<2x130x80xi32>
  %x4 = stablehlo.subtract %x3, %x6 : tensor<2x130x80xi32>
  %x = stablehlo.convert %x4 : (tensor<2x130x80xi32>) -> tensor<2x130x80xf4E2M1FN>
  %sxr = stablehlo.iota dim = 1 : tensor<2x130x5xi32>
  %sxk = stablehlo.iota dim = 2 : tensor<2x130x5xi32>
  %sx5 = stablehlo.constant dense<3> : tensor<2x130x5xi32>
  %sx7 = stablehlo.constant dense<7> : tensor<2x130x5xi32>
  %sx0 = stablehlo.multiply %sxk, %sx5 : tensor<2x130x5xi32>
  %sx1 = stablehlo.add %sx0, %sxr : tensor<2x130x5xi32>
  %sx2 = stablehlo.remainder %sx1, %sx7 : tensor<2x130x5xi32>
  %sx = stablehlo.convert %sx2 : (tensor<2x130x5xi32>) -> tensor<2x130x5xf8E4M3FN>
  %xwide = stablehlo.convert %x : (tensor<2x130x80xf4E2M1FN>) -> tensor<2x130x80xf32>
  %sxwide = stablehlo.convert %sx : (tensor<2x130x5xf8E4M3FN>) -> tensor<2x130x5xf32>
  %xblocks = stablehlo.broadcast_in_dim %sxwide, dims = [0, 1, 2] : (tensor<2x130x5xf32>) -> tensor<2x130x5x16xf32>
  %xall = stablehlo.reshape %xblocks : (tensor<2x130x5x16xf32>) -> tensor<2x130x80xf32>
  %xscaled = stablehlo.multiply %xwide, %xall : tensor<2x130x80xf32>
  %yb = stablehlo.iota dim = 0 : tensor<2x9x80xi32>
  %yr = stablehlo.iota dim = 1 : tensor<2x9x80xi32>
  %yk = stablehlo.iota dim = 2 : tensor<2x9x80xi32>
  %y7 = stablehlo.constant dense<5> : tensor<2x9x80xi32>
  %y13 = stablehlo.constant dense<13> : tensor<2x9x80xi32>
  %y6 = stablehlo.constant dense<6> : tensor<2x9x80xi32>
  %y0 = stablehlo.multiply %yr, %y7 : tensor<2x9x80xi32>
  %y1 = stablehlo.add %y0, %yk : tensor<2x9x80xi32>
  %y2 = stablehlo.add %y1, %yb : tensor<2x9x80xi32>
  %y3 = stablehlo.remainder %y2, %y13 : tensor<2x9x80xi32>
  %y4 = stablehlo.subtract %y3, %y6 : tensor<2x9x80xi32>
  %y = stablehlo.convert %y4 : (tensor<2x9x80xi32>) -> tensor<2x9x80xf4E2M1FN>
  %syr = stablehlo.iota dim = 1 : tensor<2x9x5xi32>
  %syk = stablehlo.iota dim = 2 : tensor<2x9x5xi32>
  %sy5 = stablehlo.constant dense<2> : tensor<2x9x5xi32>
  %sy7 = stablehlo.constant dense<7> : tensor<2x9x5xi32>
  %sy0 = stablehlo.multiply %syk, %sy5 : tensor<2x9x5xi32>
  %sy1 = stablehlo.add %sy0, %syr : tensor<2x9x5xi32>
  %sy2 = stablehlo.remainder %sy1, %sy7 : tensor<2x9x5xi32>
  %sy = stablehlo.convert %sy2 : (tensor<2x9x5xi32>) -> tensor<2x9x5xf8E4M3FN>
  %ywide = stablehlo.convert %y : (tensor<2x9x80xf4E2M1FN>) -> tensor<2x9x80xf32>
  %sywide = stablehlo.convert %sy : (tensor<2x9x5xf8E4M3FN>) -> tensor<2x9x5xf32>
  %yblocks = stablehlo.broadcast_in_dim %sywide, dims = [0, 1, 2] : (tensor<2x9x5xf32>) -> tensor<2x9x5x16xf32>
  %yall = stablehlo.reshape %yblocks : (tensor<2x9x5x16xf32>) -> tensor<2x9x80xf32>
  %yscaled = stablehlo.multiply %ywide, %yall : tensor<2x9x80xf32>
  %d = stablehlo.dot_general %xscaled, %yscaled, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x130x80xf32>, tensor<2x9x80xf32>) -> tensor<2x130x9xf32>
  %some = stablehlo.slice %d [0:2, 0:130:43, 0:4] : (tensor<2x130x9xf32>) -> tensor<2x4x4xf32>
  return %some : tensor<2x4x4xf32>
}
