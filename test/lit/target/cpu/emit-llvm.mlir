// RUN: tilewright-opt %s --cpu-print-code="level=llvm chip=x86-64-v4" --split-input-file | FileCheck %s

/// Contiguous memory is loaded and stored as vectors; no loop is left where the tile is one vector.

// CHECK-LABEL: define void @add(ptr noalias %0, i64 %1, i64 %2, ptr noalias align 64 %3)
//       CHECK:   load <32 x float>
//       CHECK:   fadd <32 x float>
//       CHECK:   store <32 x float>
tile.kernel @add grid [10] inputs 1 {
^bb0(%i: index, %x: memref<320xf32>, %out: memref<320xf32>):
  %o = affine.apply affine_map<(i) -> (i * 32)>(%i)
  %t = tile.load %x[%o] : memref<320xf32> -> tensor<32xf32>
  %r = tile.map(%t) : (tensor<32xf32>) -> tensor<32xf32> {
  ^bb0(%a: f32):
    %s = arith.addf %a, %a : f32
    tile.yield %s : f32
  }
  tile.store %r, %out[%o] : tensor<32xf32>, memref<320xf32>
}

// -----

/// What does not change in a loop is computed outside it, once for all lanes.

// CHECK-LABEL: define void @hoists
//       CHECK:   load float, ptr
//       CHECK:   call float @llvm.sqrt.f32(float
//       CHECK:   load <{{.*}} x float>
//   CHECK-NOT:   call{{.*}}sqrt
//       CHECK:   ret void
tile.kernel @hoists grid [4] inputs 2 {
^bb0(%i: index, %x: memref<4x512xf32>, %v: memref<4xf32>, %out: memref<4x512xf32>):
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%i, %c0] : memref<4x512xf32> -> tensor<1x512xf32>
  %l = tile.load %v[%i] : memref<4xf32> -> tensor<1xf32>
  %w = tile.view %l affine_map<(i, j) -> (i)> : tensor<1xf32> -> tensor<1x512xf32>
  %q = tile.map(%w) : (tensor<1x512xf32>) -> tensor<1x512xf32> {
  ^bb0(%a: f32):
    %s = math.sqrt %a : f32
    tile.yield %s : f32
  }
  %r = tile.map(%t, %q) : (tensor<1x512xf32>, tensor<1x512xf32>) -> tensor<1x512xf32> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.mulf %a, %b : f32
    tile.yield %s : f32
  }
  tile.store %r, %out[%i, %c0] : tensor<1x512xf32>, memref<4x512xf32>
}

// -----

/// Dimensions that are contiguous everywhere are one loop: 3 columns make no short vectors.

// CHECK-LABEL: define void @joins
//       CHECK:   load <64 x float>
//       CHECK:   store <64 x float>
tile.kernel @joins grid [1] inputs 1 {
^bb0(%i: index, %x: memref<64x3xf32>, %out: memref<64x3xf32>):
  %t = tile.load %x[%i, %i] : memref<64x3xf32> -> tensor<64x3xf32>
  tile.store %t, %out[%i, %i] : tensor<64x3xf32>, memref<64x3xf32>
}

// -----

/// An operation without instructions is a call of the scalar table for each lane.

// CHECK-LABEL: define void @complex_log
//       CHECK:   call void @tw_scalar_call(ptr @tw_scalar_record.log.c64.c64,
tile.kernel @complex_log grid [1] inputs 1 {
^bb0(%i: index, %x: memref<8xcomplex<f32>>, %out: memref<8xcomplex<f32>>):
  %t = tile.load %x[%i] : memref<8xcomplex<f32>> -> tensor<8xcomplex<f32>>
  %r = tile.map(%t) : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> {
  ^bb0(%a: complex<f32>):
    %s = complex.log %a : complex<f32>
    tile.yield %s : complex<f32>
  }
  tile.store %r, %out[%i] : tensor<8xcomplex<f32>>, memref<8xcomplex<f32>>
}

// -----

/// A power of two scales e^r in one instruction for each register.

// CHECK-LABEL: define void @exp
// CHECK-COUNT-2: call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(
//   CHECK-NOT:   scalef
//       CHECK:   ret void
tile.kernel @exp grid [1] inputs 1 {
^bb0(%i: index, %x: memref<32xf32>, %out: memref<32xf32>):
  %t = tile.load %x[%i] : memref<32xf32> -> tensor<32xf32>
  %r = tile.map(%t) : (tensor<32xf32>) -> tensor<32xf32> {
  ^bb0(%a: f32):
    %s = math.exp %a : f32
    tile.yield %s : f32
  }
  tile.store %r, %out[%i] : tensor<32xf32>, memref<32xf32>
}
