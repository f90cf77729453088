// RUN: not tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_80" -o /dev/null 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t

/// `ldmatrix` loads the four words of a 16x16 fragment of f16, transposed where memory is contiguous along the rows of the
/// instruction. Words that are not needed as elements stay words up to the product.

// CHECK-LABEL: llvm.func @ldmatrix(
//       CHECK:   %[[ROWS:.*]] = llvm.mlir.constant(2048 : i64)
//       CHECK:   nvvm.cp.async.wait.group 0
//       CHECK:   %[[LHS:.*]] = nvvm.ldmatrix %{{.*}} layout = #nvvm.mma_layout<row>, num = 4 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>
//       CHECK:   %[[A0:.*]] = llvm.extractvalue %[[LHS]][0]
//       CHECK:   %[[A3:.*]] = llvm.extractvalue %[[LHS]][3]
//       CHECK:   %[[AT:.*]] = llvm.getelementptr %{{.*}}[%[[ROWS]]] : (!llvm.ptr<3>, i64)
//  CHECK-NEXT:   %[[RHS:.*]] = nvvm.ldmatrix %[[AT]] {{.*}} layout = #nvvm.mma_layout<col>, num = 4 : i32
//       CHECK:   %[[B0:.*]] = llvm.extractvalue %[[RHS]][0]
//       CHECK:   %[[B1:.*]] = llvm.extractvalue %[[RHS]][1]
//       CHECK:   mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{.*}} %[[A0]], %{{.*}}, %[[A3]], %[[B0]], %[[B1]],
!x = !sm.buffer<16x64xf16, shared, <[16 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!y = !sm.buffer<64x64xf16, shared, <[64 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!x, !y>
#a = #sm.layout<[2 reg:2, 8 lane:4] [2 reg:4, 4 lane, 2 reg]>
#b = #sm.layout<[2 reg:2, 4 lane, 2 reg] [2 reg:4, 8 lane:4]>
#c = #sm.layout<[2 reg:2, 8 lane:4] [2 reg:4, 4 lane, 2 reg]>
sm.kernel @ldmatrix grid [1] inputs 2 warps 1 {
^bb0(%i: index, %x: memref<16x64xf16>, %y: memref<64x64xf16>, %out: memref<16x16xf32>):
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %in = sm.channel depth 1 : !in
  %slot:2 = sm.acquire %in : !in
  sm.copy cp_async %x[%c0, %c0] to %slot#0 : memref<16x64xf16> to !x
  sm.copy cp_async %y[%c0, %c0] to %slot#1 : memref<64x64xf16> to !y
  sm.publish %in : !in
  %zero = tile.map() : () -> tensor<16x16xf32, #c> {
    %z = arith.constant 0.0 : f32
    tile.yield %z : f32
  }
  %full:2 = sm.take %in : !in
  %lhs = sm.copy ldmatrix %full#0[%c0, %c16] : !x -> tensor<16x16xf16, #a>
  %rhs = sm.copy ldmatrix %full#1[%c16, %c0] : !y -> tensor<16x16xf16, #b>
  sm.free %in : !in
  %d = sm.mma mma_sync %lhs, %rhs, %zero : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #c>
  tile.store %d, %out[%c0, %c0] : tensor<16x16xf32, #c>, memref<16x16xf32>
}

/// `ld` loads words one by one, here where memory is contiguous along the rows of the left side. An op that is not a product gets
/// the elements of the words.

// CHECK-LABEL: llvm.func @ld(
//       CHECK:   %[[WORD:.*]] = llvm.load {{.*}} : !llvm.ptr<3> -> i32
//       CHECK:   llvm.load {{.*}} : !llvm.ptr<3> -> i32
//       CHECK:   llvm.load {{.*}} : !llvm.ptr<3> -> i32
//       CHECK:   llvm.load {{.*}} : !llvm.ptr<3> -> i32
//       CHECK:   %[[BITS:.*]] = llvm.lshr %[[WORD]],
//       CHECK:   %[[ELEMENT:.*]] = llvm.bitcast %[[BITS]] : i32 to f32
//       CHECK:   llvm.store %[[ELEMENT]],
!turned = !sm.buffer<16x8xf32, shared, <[16 offset] [8 offset:16]>>
#left = #sm.layout<[2 reg, 8 lane:4] [2 reg:2, 4 lane]>
sm.kernel @ld grid [1] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<8x16xf32>, %out: memref<16x8xf32>):
  %c0 = arith.constant 0 : index
  %in = sm.channel depth 1 : !sm.channel<!turned>
  %slot = sm.acquire %in : !sm.channel<!turned>
  sm.copy cp_async %x[%c0, %c0] to %slot transposed : memref<8x16xf32> to !turned
  sm.publish %in : !sm.channel<!turned>
  %full = sm.take %in : !sm.channel<!turned>
  %t = sm.copy ld %full[%c0, %c0] : !turned -> tensor<16x8xf32, #left>
  sm.free %in : !sm.channel<!turned>
  tile.store %t, %out[%c0, %c0] : tensor<16x8xf32, #left>, memref<16x8xf32>
}

// -----

// ERROR: E4051 target: while compiling kernel offset: 'sm.copy' at {{.*}} must begin at an offset that is a constant multiple of the tile's size
!x = !sm.buffer<16x64xf16, shared, <[16 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!x>
#words = #sm.layout<[2 reg:2, 8 lane:4] [4 lane, 2 reg]>
sm.kernel @offset grid [2] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<16x64xf16>, %out: memref<16x8xf16>):
  %c0 = arith.constant 0 : index
  %in = sm.channel depth 1 : !in
  %slot = sm.acquire %in : !in
  sm.publish %in : !in
  %full = sm.take %in : !in
  %t = sm.copy ld %full[%c0, %i] : !x -> tensor<16x8xf16, #words>
}

// -----

// ERROR: E4051 target: while compiling kernel layout: 'sm.copy' at {{.*}} loads [16 reg] [32 lane] from [16 offset:64] [64 offset] xor [offset 6:3 to offset 3], which is not a fragment of a matrix instruction
!x = !sm.buffer<16x64xf16, shared, <[16 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!x>
#rows = #sm.layout<[16 reg] [32 lane]>
sm.kernel @layout grid [2] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<16x64xf16>, %out: memref<16x8xf16>):
  %c0 = arith.constant 0 : index
  %in = sm.channel depth 1 : !in
  %slot = sm.acquire %in : !in
  sm.publish %in : !in
  %full = sm.take %in : !in
  %t = sm.copy ldmatrix %full[%c0, %c0] : !x -> tensor<16x32xf16, #rows>
}
