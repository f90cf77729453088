// RUN: tilewright-opt %s --cpu-print-code="level=llvm chip=x86-64-v4" --split-input-file | FileCheck %s

/// A large result is written past the caches, whole lines at aligned addresses only: not the last 8 of 40 columns, and not rows that
/// begin anywhere. The stores are complete before the kernel returns.

// CHECK-LABEL: define void @aligned
//       CHECK:   store <32 x float> %{{.*}}, align 64, !nontemporal
//       CHECK:   call void @llvm.x86.sse.sfence()
//  CHECK-NEXT:   ret void
// CHECK-LABEL: define void @unaligned
//   CHECK-NOT:   nontemporal
//   CHECK-NOT:   sfence
//       CHECK:   ret void
func.func @main(%x: tensor<4x32xf32>, %y: tensor<4x40xf32>) -> (tensor<4x32xf32>, tensor<4x40xf32>) attributes {
    exec.allocations = [#exec.allocation<storage = "parameter", index = 0, bytes = 512, space = 0>, #exec.allocation<storage = "parameter", index = 1, bytes = 640, space = 0>,
                        #exec.allocation<storage = "result", index = 0, bytes = 512, space = 0>, #exec.allocation<storage = "result", index = 1, bytes = 640, space = 0>],
    exec.argument_slices = [[#exec.slice<allocation = 0, offset = 0, bytes = 512>, #exec.slice<allocation = 1, offset = 0, bytes = 640>]]} {
  %a = exec.launch @aligned(%x) {exec.slices = [#exec.slice<allocation = 2, offset = 0, bytes = 33554432>]} : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %b = exec.launch @unaligned(%y) {exec.slices = [#exec.slice<allocation = 3, offset = 0, bytes = 33554432>]} : (tensor<4x40xf32>) -> tensor<4x40xf32>
  return %a, %b : tensor<4x32xf32>, tensor<4x40xf32>
}
tile.kernel @aligned grid [4] inputs 1 {
^bb0(%i: index, %x: memref<4x32xf32>, %out: memref<4x32xf32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%i, %c0] : memref<4x32xf32> -> tensor<1x32xf32>
  tile.store %t, %out[%i, %c0] : tensor<1x32xf32>, memref<4x32xf32>
}
tile.kernel @unaligned grid [4] inputs 1 {
^bb0(%i: index, %x: memref<4x40xf32>, %out: memref<4x40xf32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%i, %c0] : memref<4x40xf32> -> tensor<1x40xf32>
  tile.store %t, %out[%i, %c0] : tensor<1x40xf32>, memref<4x40xf32>
}

// -----

/// Not streamed: an output that the next kernel may find in a cache, memory whose old contents the kernel has read, and a kernel that
/// has a small output in another launch.

// CHECK-LABEL: define void @fits
//   CHECK-NOT:   nontemporal
// CHECK-LABEL: define void @in_place
//   CHECK-NOT:   nontemporal
// CHECK-LABEL: define void @both
//   CHECK-NOT:   nontemporal
//       CHECK:   ret void
func.func @main(%x: tensor<4x32xf32>) -> (tensor<4x32xf32>, tensor<4x32xf32>) attributes {
    exec.allocations = [#exec.allocation<storage = "parameter", index = 0, bytes = 512, space = 0>, #exec.allocation<storage = "temporary", index = 0, bytes = 512, space = 0>,
                        #exec.allocation<storage = "result", index = 0, bytes = 512, space = 0>, #exec.allocation<storage = "result", index = 1, bytes = 640, space = 0>],
    exec.argument_slices = [[#exec.slice<allocation = 0, offset = 0, bytes = 512>]]} {
  %a = exec.launch @fits(%x) {exec.slices = [#exec.slice<allocation = 1, offset = 0, bytes = 33554431>]} : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %b = exec.launch @both(%a) {exec.slices = [#exec.slice<allocation = 2, offset = 0, bytes = 33554432>]} : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %c = exec.launch @in_place(%b) {aliases = array<i64: 0, 0>, exec.slices = [#exec.slice<allocation = 2, offset = 0, bytes = 33554432>]} : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %d = exec.launch @both(%x) {exec.slices = [#exec.slice<allocation = 3, offset = 0, bytes = 512>]} : (tensor<4x32xf32>) -> tensor<4x32xf32>
  return %c, %d : tensor<4x32xf32>, tensor<4x32xf32>
}
tile.kernel @fits grid [4] inputs 1 {
^bb0(%i: index, %x: memref<4x32xf32>, %out: memref<4x32xf32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%i, %c0] : memref<4x32xf32> -> tensor<1x32xf32>
  tile.store %t, %out[%i, %c0] : tensor<1x32xf32>, memref<4x32xf32>
}
tile.kernel @in_place grid [2] inputs 1 {
^bb0(%i: index, %x: memref<4x32xf32>, %out: memref<4x32xf32>):
  %c0 = arith.constant 0 : index
  %j = affine.apply affine_map<(i) -> (i * 2)>(%i)
  %t = tile.load %x[%j, %c0] : memref<4x32xf32> -> tensor<2x32xf32>
  tile.store %t, %out[%j, %c0] : tensor<2x32xf32>, memref<4x32xf32>
}
tile.kernel @both grid [1] inputs 1 {
^bb0(%i: index, %x: memref<4x32xf32>, %out: memref<4x32xf32>):
  %t = tile.load %x[%i, %i] : memref<4x32xf32> -> tensor<4x32xf32>
  tile.store %t, %out[%i, %i] : tensor<4x32xf32>, memref<4x32xf32>
}
