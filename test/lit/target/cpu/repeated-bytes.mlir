// RUN: tilewright-opt %s --cpu-attach-target=chip=sapphirerapids --fuse --tile --cpu-print-code 2>&1 | FileCheck %s

/// Elements of 4 bits: a vector of 32 has two elements of each of 16 bytes, which are loaded once.

// CHECK-LABEL: define void @convert
//       CHECK:   %[[B:.*]] = load <16 x i8>
//       CHECK:   shufflevector <16 x i8> %[[B]], <16 x i8> poison, <32 x i32> <i32 0, i32 0, i32 1, i32 1
//       CHECK:   lshr <32 x i8> %{{.*}}, <i8 0, i8 4, i8 0, i8 4
//   CHECK-NOT:   gather
//       CHECK:   store <32 x
func.func public @main(%x: tensor<4x16xf4E2M1FN>) -> tensor<4x16xf32> {
  %0 = stablehlo.convert %x : (tensor<4x16xf4E2M1FN>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}
