// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(fuse-split-k))' --split-input-file \
// RUN:   --remark-policy=all --remarks-filter=fuse --remark-format=emitRemark 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t

#hopper = #exec.target<chip = "sm_90a", units = 132, gpu = <>, matrix = <unit = wgmma, types = [f16, bf16, tf32, i8]>,
  rates = <f16 = 2048, tf32 = 1024, s8 = 4096, copy_latency = 1000, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1830, l2_bytes = 50000000, cluster = 2>>
module attributes {exec.target = #hopper} {

/// The pieces are the first batching dimension. Partial sums are f32, and the result is rounded once.

// CHECK-LABEL: func @rows_of_k
//       CHECK:   %[[X:.*]] = stablehlo.reshape %arg0 : (tensor<128x16384xbf16>) -> tensor<128x[[S:[0-9]+]]x[[K:[0-9]+]]xbf16>
//       CHECK:   %[[Y:.*]] = stablehlo.reshape %arg1 : (tensor<128x16384xbf16>) -> tensor<128x[[S]]x[[K]]xbf16>
//       CHECK:   %[[P:.*]] = stablehlo.dot_general %[[X]], %[[Y]], batching_dims = [1] x [1], contracting_dims = [2] x [2]
//  CHECK-SAME:     -> tensor<[[S]]x128x128xf32>
//       CHECK:   %[[SUM:.*]] = stablehlo.reduce(%[[P]] init: %{{.*}}) applies stablehlo.add across dimensions = [0]
//       CHECK:   %[[R:.*]] = stablehlo.convert %[[SUM]] : (tensor<128x128xf32>) -> tensor<128x128xbf16>
//       CHECK:   return %[[R]]
// WHY: a product of 128x128x16384 has {{[0-9]+}} tiles for 132 multiprocessors and is split along K: {{[0-9]+}} pieces have {{[0-9]+}} tiles and take about {{[0-9]+}} cycles instead of {{[0-9]+}}
func.func @rows_of_k(%a: tensor<128x16384xbf16>, %b: tensor<128x16384xbf16>) -> tensor<128x128xbf16> {
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<128x16384xbf16>, tensor<128x16384xbf16>) -> tensor<128x128xbf16>
  return %d : tensor<128x128xbf16>
}

/// Both batching dimensions and the other order of the right side move along; the precision stays.

// CHECK-LABEL: func @batched
//       CHECK:   stablehlo.reshape %arg0 : (tensor<2x64x8192xf32>) -> tensor<2x64x[[S:[0-9]+]]x[[K:[0-9]+]]xf32>
//       CHECK:   stablehlo.reshape %arg1 : (tensor<8192x2x64xf32>) -> tensor<[[S]]x[[K]]x2x64xf32>
//       CHECK:   stablehlo.dot_general %{{.*}}, %{{.*}}, batching_dims = [2, 0] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT]
//  CHECK-SAME:     -> tensor<[[S]]x2x64x64xf32>
//   CHECK-NOT:   stablehlo.convert
func.func @batched(%a: tensor<2x64x8192xf32>, %b: tensor<8192x2x64xf32>) -> tensor<2x64x64xf32> {
  %d = stablehlo.dot_general %a, %b, batching_dims = [0] x [1], contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT]
    : (tensor<2x64x8192xf32>, tensor<8192x2x64xf32>) -> tensor<2x64x64xf32>
  return %d : tensor<2x64x64xf32>
}

/// Integers are summed in i32.

// CHECK-LABEL: func @integers
//       CHECK:   stablehlo.dot_general {{.*}} -> tensor<{{[0-9]+}}x64x64xi32>
//       CHECK:   stablehlo.reduce({{.*}} applies stablehlo.add across dimensions = [0] : {{.*}} -> tensor<64x64xi32>
func.func @integers(%a: tensor<64x32768xi8>, %b: tensor<64x32768xi8>) -> tensor<64x64xi32> {
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<64x32768xi8>, tensor<64x32768xi8>) -> tensor<64x64xi32>
  return %d : tensor<64x64xi32>
}

/// The new shape reaches the operand of a prologue: a conversion, and a scale for each column.

// CHECK-LABEL: func @prologue
//       CHECK:   %[[Q:.*]] = stablehlo.reshape %arg1 : (tensor<8192x128xi8>) -> tensor<[[S:[0-9]+]]x[[K:[0-9]+]]x128xi8>
//       CHECK:   %[[C:.*]] = stablehlo.convert %[[Q]] : (tensor<[[S]]x[[K]]x128xi8>) -> tensor<[[S]]x[[K]]x128xbf16>
//       CHECK:   %[[W:.*]] = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<128xbf16>) -> tensor<[[S]]x[[K]]x128xbf16>
//       CHECK:   %[[B:.*]] = stablehlo.multiply %[[C]], %[[W]]
//   CHECK-NOT:   stablehlo.multiply
//       CHECK:   stablehlo.dot_general %{{.*}}, %[[B]], batching_dims = [1] x [0], contracting_dims = [2] x [1]
func.func @prologue(%a: tensor<64x8192xbf16>, %q: tensor<8192x128xi8>, %s: tensor<128xbf16>) -> tensor<64x128xf32> {
  %c = stablehlo.convert %q : (tensor<8192x128xi8>) -> tensor<8192x128xbf16>
  %w = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<128xbf16>) -> tensor<8192x128xbf16>
  %b = stablehlo.multiply %c, %w : tensor<8192x128xbf16>
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x8192xbf16>, tensor<8192x128xbf16>) -> tensor<64x128xf32>
  return %d : tensor<64x128xf32>
}

/// What another op reads too is in memory, so only its shape changes.

// CHECK-LABEL: func @not_a_prologue
//       CHECK:   %[[N:.*]] = stablehlo.negate %arg0 : tensor<64x16384xbf16>
//       CHECK:   stablehlo.reshape %[[N]]
func.func @not_a_prologue(%a: tensor<64x16384xbf16>, %b: tensor<64x16384xbf16>) -> (tensor<64x64xf32>, tensor<64x16384xbf16>) {
  %n = stablehlo.negate %a : tensor<64x16384xbf16>
  %d = stablehlo.dot_general %n, %b, contracting_dims = [1] x [1] : (tensor<64x16384xbf16>, tensor<64x16384xbf16>) -> tensor<64x64xf32>
  return %d, %n : tensor<64x64xf32>, tensor<64x16384xbf16>
}

/// Enough tiles, a short contraction, no elements, types of which partial sums would lose bits or which no
/// matrix instruction multiplies: not split, and not worth a remark.

// CHECK-LABEL: func @negative
//   CHECK-NOT:   stablehlo.reshape
func.func @negative(%a: tensor<4096x4096xbf16>, %b: tensor<128x1024xbf16>, %c: tensor<0x16384xbf16>, %d: tensor<64x16384xf64>, %e: tensor<64x16384xf32>,
                    %f: tensor<64x16384xi8>)
    -> (tensor<4096x4096xbf16>, tensor<128x128xf32>, tensor<0x0xf32>, tensor<64x64xf64>, tensor<64x64xf32>, tensor<64x64xi8>) {
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = stablehlo.dot_general %b, %b, contracting_dims = [1] x [1] : (tensor<128x1024xbf16>, tensor<128x1024xbf16>) -> tensor<128x128xf32>
  %2 = stablehlo.dot_general %c, %c, contracting_dims = [1] x [1] : (tensor<0x16384xbf16>, tensor<0x16384xbf16>) -> tensor<0x0xf32>
  %3 = stablehlo.dot_general %d, %d, contracting_dims = [1] x [1] : (tensor<64x16384xf64>, tensor<64x16384xf64>) -> tensor<64x64xf64>
  %4 = stablehlo.dot_general %e, %e, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<64x16384xf32>, tensor<64x16384xf32>) -> tensor<64x64xf32>
  %5 = stablehlo.dot_general %f, %f, contracting_dims = [1] x [1] : (tensor<64x16384xi8>, tensor<64x16384xi8>) -> tensor<64x64xi8>
  return %0, %1, %2, %3, %4, %5 : tensor<4096x4096xbf16>, tensor<128x128xf32>, tensor<0x0xf32>, tensor<64x64xf64>, tensor<64x64xf32>, tensor<64x64xi8>
}

/// What would gain but cannot be divided is reported.

// CHECK-LABEL: func @negative_reported
//   CHECK-NOT:   stablehlo.reduce
// WHY: Missed{{.*}}no part of K that is a multiple of 64 gains enough{{.*}}a product of 64x64x16381 has {{[0-9]+}} tiles for 132 multiprocessors, but is not split along K
// WHY: it has more than one contracting dimension
// WHY: its lhs cannot be divided: it is computed in the matmul's kernel by 'stablehlo.transpose'
// WHY: its lhs cannot be divided: it is computed in the matmul's kernel, behind a reshape
// WHY: an operand has more than 4 dimensions
func.func @negative_reported(%a: tensor<64x16381xbf16>, %b: tensor<64x128x128xbf16>, %c: tensor<16384x64xbf16>, %d: tensor<64x256x64xi8>, %e: tensor<2x2x2x2x4x16384xbf16>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<2x2x2x2x4x4xf32>) {
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<64x16381xbf16>, tensor<64x16381xbf16>) -> tensor<64x64xf32>
  %1 = stablehlo.dot_general %b, %b, contracting_dims = [1, 2] x [1, 2] : (tensor<64x128x128xbf16>, tensor<64x128x128xbf16>) -> tensor<64x64xf32>
  %t = stablehlo.transpose %c, dims = [1, 0] : (tensor<16384x64xbf16>) -> tensor<64x16384xbf16>
  %2 = stablehlo.dot_general %t, %c, contracting_dims = [1] x [0] : (tensor<64x16384xbf16>, tensor<16384x64xbf16>) -> tensor<64x64xf32>
  %g = stablehlo.convert %d : (tensor<64x256x64xi8>) -> tensor<64x256x64xbf16>
  %r = stablehlo.reshape %g : (tensor<64x256x64xbf16>) -> tensor<64x16384xbf16>
  %3 = stablehlo.dot_general %r, %c, contracting_dims = [1] x [0] : (tensor<64x16384xbf16>, tensor<16384x64xbf16>) -> tensor<64x64xf32>
  %4 = stablehlo.dot_general %e, %e, batching_dims = [0, 1, 2, 3] x [0, 1, 2, 3], contracting_dims = [5] x [5] : (tensor<2x2x2x2x4x16384xbf16>, tensor<2x2x2x2x4x16384xbf16>) -> tensor<2x2x2x2x4x4xf32>
  return %0, %1, %2, %3, %4 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<2x2x2x2x4x4xf32>
}
}

// -----

/// A CPU has a library for large products.

// CHECK-LABEL: func @cpu
//   CHECK-NOT:   stablehlo.reduce
func.func @cpu(%a: tensor<128x16384xf32>, %b: tensor<128x16384xf32>) -> tensor<128x128xf32> {
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<128x16384xf32>, tensor<128x16384xf32>) -> tensor<128x128xf32>
  return %d : tensor<128x128xf32>
}
