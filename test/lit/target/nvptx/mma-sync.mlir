// RUN: not tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_80" -o /dev/null 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t

/// One instruction for each 8 columns. A fragment is words of two f16 each.

// CHECK-LABEL: llvm.func @dot(
// CHECK-COUNT-4: lane.encode %{{.*}} as f16 : f32 -> i16
//       CHECK:   %[[A0:.*]] = llvm.bitcast %{{.*}} : vector<2xi16> to i32
//       CHECK:   %[[A1:.*]] = llvm.bitcast %{{.*}} : vector<2xi16> to i32
//       CHECK:   %[[A2:.*]] = llvm.bitcast %{{.*}} : vector<2xi16> to i32
//       CHECK:   %[[A3:.*]] = llvm.bitcast %{{.*}} : vector<2xi16> to i32
//       CHECK:   %[[B0:.*]] = llvm.bitcast %{{.*}} : vector<2xi16> to i32
//       CHECK:   %[[B1:.*]] = llvm.bitcast %{{.*}} : vector<2xi16> to i32
//       CHECK:   %[[B2:.*]] = llvm.bitcast %{{.*}} : vector<2xi16> to i32
//       CHECK:   %[[B3:.*]] = llvm.bitcast %{{.*}} : vector<2xi16> to i32
//       CHECK:   llvm.inline_asm {{.*}} "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{.*}} %[[A0]], %[[A1]], %[[A2]], %[[A3]], %[[B0]], %[[B1]],
//       CHECK:   llvm.inline_asm {{.*}} "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{.*}} %[[A0]], %[[A1]], %[[A2]], %[[A3]], %[[B2]], %[[B3]],
//   CHECK-NOT:   mma.sync
//       CHECK:   llvm.return
#a = #sm.layout<[2 reg:2, 8 lane:4] [2 reg:4, 4 lane, 2 reg]>
#b = #sm.layout<[2 reg:2, 4 lane, 2 reg] [2 reg:4, 8 lane:4]>
#c = #sm.layout<[2 reg:2, 8 lane:4] [2 reg:4, 4 lane, 2 reg]>
sm.kernel @dot grid [1] inputs 2 warps 1 {
^bb0(%i: index, %x: memref<16x16xf16>, %y: memref<16x16xf16>, %out: memref<16x16xf32>):
  %c0 = arith.constant 0 : index
  %lhs = tile.load %x[%c0, %c0] : memref<16x16xf16> -> tensor<16x16xf16, #a>
  %rhs = tile.load %y[%c0, %c0] : memref<16x16xf16> -> tensor<16x16xf16, #b>
  %zero = tile.map() : () -> tensor<16x16xf32, #c> {
    %z = arith.constant 0.0 : f32
    tile.yield %z : f32
  }
  %d = tile.dot %lhs, %rhs, %zero : tensor<16x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<16x16xf32, #c>
  tile.store %d, %out[%c0, %c0] : tensor<16x16xf32, #c>, memref<16x16xf32>
}

/// f32 operands of `sm.mma` are rounded to tf32.

// CHECK-LABEL: llvm.func @tf32(
//       CHECK:   %[[A0:.*]] = nvvm.convert.float.to.tf32
// CHECK-COUNT-4: nvvm.convert.float.to.tf32
//       CHECK:   %[[B1:.*]] = nvvm.convert.float.to.tf32
//       CHECK:   llvm.inline_asm {{.*}} "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};"
//  CHECK-SAME:     %[[A0]], %{{.*}}, %[[B1]], %
#a32 = #sm.layout<[2 reg, 8 lane:4] [2 reg:2, 4 lane]>
#b32 = #sm.layout<[2 reg, 4 lane] [8 lane:4]>
#c32 = #sm.layout<[2 reg:2, 8 lane:4] [4 lane, 2 reg]>
sm.kernel @tf32 grid [1] inputs 2 warps 1 {
^bb0(%i: index, %x: memref<16x8xf32>, %y: memref<8x8xf32>, %out: memref<16x8xf32>):
  %c0 = arith.constant 0 : index
  %lhs = tile.load %x[%c0, %c0] : memref<16x8xf32> -> tensor<16x8xf32, #a32>
  %rhs = tile.load %y[%c0, %c0] : memref<8x8xf32> -> tensor<8x8xf32, #b32>
  %zero = tile.map() : () -> tensor<16x8xf32, #c32> {
    %z = arith.constant 0.0 : f32
    tile.yield %z : f32
  }
  %d = sm.mma mma_sync %lhs, %rhs, %zero : tensor<16x8xf32, #a32>, tensor<8x8xf32, #b32> -> tensor<16x8xf32, #c32>
  tile.store %d, %out[%c0, %c0] : tensor<16x8xf32, #c32>, memref<16x8xf32>
}

// -----

// ERROR: E4051 target: while compiling kernel buffer: 'sm.mma' at {{.*}} has an operand in a buffer, but mma_sync requires registers; copy it with `ldmatrix` or `ld`
!x = !sm.buffer<16x16xf16, shared, <[16 offset:16] [16 offset]>>
!in = !sm.channel<!x>
#b = #sm.layout<[2 reg:2, 4 lane, 2 reg] [2 reg:4, 8 lane:4]>
#c = #sm.layout<[2 reg:2, 8 lane:4] [2 reg:4, 4 lane, 2 reg]>
sm.kernel @buffer grid [1] inputs 2 warps 1 {
^bb0(%i: index, %x: memref<16x16xf16>, %y: memref<16x16xf16>, %out: memref<16x16xf32>):
  %c0 = arith.constant 0 : index
  %in = sm.channel depth 1 : !in
  %rhs = tile.load %y[%c0, %c0] : memref<16x16xf16> -> tensor<16x16xf16, #b>
  %slot = sm.acquire %in : !in
  sm.publish %in : !in
  %full = sm.take %in : !in
  %d = sm.mma mma_sync %full, %rhs : !x, tensor<16x16xf16, #b> -> tensor<16x16xf32, #c>
}
