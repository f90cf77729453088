// RUN: tilewright-opt %s --amdgcn-print-code="level=llvm chip=gfx942" -o /dev/null | FileCheck %s --check-prefixes=CHECK,GFX942
// RUN: tilewright-opt %s --amdgcn-print-code="level=llvm chip=gfx950" -o /dev/null | FileCheck %s --check-prefixes=CHECK,GFX950

/// A lane has 8 values of each operand along k, which are one instruction of gfx950 and two of gfx942. The right operand comes first, so that
/// a lane's sums are in one row: they are stored at once.

//  CHECK-LABEL: @dot(
//        CHECK:   load <8 x i16>
//        CHECK:   load <8 x i16>
// GFX942-COUNT-2: call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half>
// GFX950-COUNT-1: call <4 x float> @llvm.amdgcn.mfma.f32.16x16x32.f16(<8 x half>
//    CHECK-NOT:   call {{.*}}mfma
//        CHECK:   store <4 x float>
#a = #sm.layout<[16 lane] [4 lane:16, 8 reg]>
#b = #sm.layout<[4 lane:16, 8 reg] [16 lane]>
#c = #sm.layout<[16 lane] [4 lane:16, 4 reg]>
sm.kernel @dot grid [1] inputs 2 warps 1 {
^bb0(%i: index, %x: memref<16x32xf16>, %y: memref<16x32xf16>, %out: memref<16x16xf32>):
  %c0 = arith.constant 0 : index
  %lhs = tile.load %x[%c0, %c0] : memref<16x32xf16> -> tensor<16x32xf16, #a>
  %columns = tile.load %y[%c0, %c0] : memref<16x32xf16> -> tensor<16x32xf16, #a>
  %rhs = tile.view %columns affine_map<(i, j) -> (j, i)> : tensor<16x32xf16, #a> -> tensor<32x16xf16, #b>
  %zero = tile.map() : () -> tensor<16x16xf32, #c> {
    %z = arith.constant 0.0 : f32
    tile.yield %z : f32
  }
  %d = tile.dot %lhs, %rhs, %zero : tensor<16x32xf16, #a>, tensor<32x16xf16, #b> -> tensor<16x16xf32, #c>
  tile.store %d, %out[%c0, %c0] : tensor<16x16xf32, #c>, memref<16x16xf32>
}

/// Bytes: one instruction of 64 of them on gfx950, two of 32 on gfx942.

//  CHECK-LABEL: @bytes(
// GFX942-COUNT-2: call <4 x i32> @llvm.amdgcn.mfma.i32.16x16x32.i8(i64
// GFX950-COUNT-1: call <4 x i32> @llvm.amdgcn.mfma.i32.16x16x64.i8(<4 x i32>
//    CHECK-NOT:   call {{.*}}mfma
#a8 = #sm.layout<[16 lane] [4 lane:16, 16 reg]>
#b8 = #sm.layout<[4 lane:16, 16 reg] [16 lane]>
sm.kernel @bytes grid [1] inputs 2 warps 1 {
^bb0(%i: index, %x: memref<16x64xi8>, %y: memref<64x16xi8>, %out: memref<16x16xi32>):
  %c0 = arith.constant 0 : index
  %lhs = tile.load %x[%c0, %c0] : memref<16x64xi8> -> tensor<16x64xi8, #a8>
  %rhs = tile.load %y[%c0, %c0] : memref<64x16xi8> -> tensor<64x16xi8, #b8>
  %zero = tile.map() : () -> tensor<16x16xi32, #c> {
    %z = arith.constant 0 : i32
    tile.yield %z : i32
  }
  %d = tile.dot %lhs, %rhs, %zero : tensor<16x64xi8, #a8>, tensor<64x16xi8, #b8> -> tensor<16x16xi32, #c>
  tile.store %d, %out[%c0, %c0] : tensor<16x16xi32, #c>, memref<16x16xi32>
}
