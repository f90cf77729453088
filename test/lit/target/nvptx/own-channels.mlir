// RUN: not tilewright-opt %s --split-input-file --nvptx-print-code="level=nvvm chip=sm_80" -o /dev/null 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR --input-file=%t

/// In a kernel without roles, a published slot is a group of cp.async. To take the older of two slots, a thread waits until
/// one group is pending, then for the other threads at a barrier. A slot that was freed is filled after another barrier.

// CHECK-LABEL: llvm.func @two_slots(
//  CHECK-SAME:   nvvm.minctasm = 1 : i32
//   CHECK-DAG:   %[[HALF:.*]] = llvm.mlir.constant(2048 : i64)
//       CHECK:   %[[FROM:.*]] = llvm.getelementptr %arg0
//       CHECK:   nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
//       CHECK:   %[[TO:.*]] = llvm.getelementptr %{{.*}}[%[[HALF]]] : (!llvm.ptr<3>, i64)
//  CHECK-NEXT:   %[[NEXT:.*]] = llvm.getelementptr %[[FROM]][%[[HALF]]] : (!llvm.ptr<1>, i64)
//  CHECK-NEXT:   nvvm.cp.async.shared.global %[[TO]], %[[NEXT]], 16, cache = cg
//  CHECK-NEXT:   nvvm.cp.async.commit.group
//   CHECK-NOT:   nvvm.barrier
// CHECK-COUNT-2: nvvm.cp.async.shared.global
//       CHECK:   nvvm.cp.async.commit.group
//       CHECK:   nvvm.cp.async.wait.group 1
//  CHECK-NEXT:   nvvm.barrier
//       CHECK:   nvvm.barrier
// CHECK-COUNT-2: nvvm.cp.async.shared.global
//       CHECK:   nvvm.cp.async.commit.group
//       CHECK:   nvvm.cp.async.wait.group 1
//  CHECK-NEXT:   nvvm.barrier
//       CHECK:   nvvm.cp.async.wait.group 0
//  CHECK-NEXT:   nvvm.barrier
//   CHECK-NOT:   nvvm.barrier
//       CHECK:   llvm.return
!x = !sm.buffer<32x64xf16, shared, <[32 offset:64] [64 offset] xor [offset 6:3 to offset 3]>>
!in = !sm.channel<!x>
sm.kernel @two_slots grid [1] inputs 1 warps 4 {
^bb0(%i: index, %x: memref<64x64xf16>, %out: memref<16x64xf16>):
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %in = sm.channel depth 2 : !in
  %first = sm.acquire %in : !in
  sm.copy cp_async %x[%c0, %c0] to %first : memref<64x64xf16> to !x
  sm.publish %in : !in
  %second = sm.acquire %in : !in
  sm.copy cp_async %x[%c32, %c0] to %second : memref<64x64xf16> to !x
  sm.publish %in : !in
  %full = sm.take %in : !in
  sm.free %in : !in
  %third = sm.acquire %in : !in
  sm.copy cp_async %x[%c0, %c0] to %third : memref<64x64xf16> to !x
  sm.publish %in : !in
  %rest = sm.take %in : !in
  sm.free %in : !in
  %last = sm.take %in : !in
  sm.free %in : !in
}

/// Rows of 20 bytes allow pieces of 4 bytes. A piece in a row outside of memory reads no bytes, so cp.async fills it with zeros.

// CHECK-LABEL: llvm.func @pieces(
//       CHECK:   %[[FOUR:.*]] = llvm.mlir.constant(4 : i32)
//       CHECK:   %[[ROWS:.*]] = llvm.mlir.constant(12 : i32)
//       CHECK:   %[[ZERO:.*]] = llvm.mlir.constant(0 : i32)
//       CHECK:   %[[IS_INSIDE:.*]] = llvm.icmp "ult" %{{.*}}, %[[ROWS]]
//       CHECK:   %[[BYTES:.*]] = llvm.select %[[IS_INSIDE]], %[[FOUR]], %[[ZERO]]
//       CHECK:   nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 4, cache = ca, %[[BYTES]] :
//       CHECK:   nvvm.cp.async.wait.group 0
!small = !sm.buffer<8x8xf16, shared, <[8 offset:8] [8 offset]>>
sm.kernel @pieces grid [2] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<12x10xf16>, %out: memref<12x10xf16>):
  %c0 = arith.constant 0 : index
  %o = affine.apply affine_map<(i) -> (i * 8)>(%i)
  %in = sm.channel depth 1 : !sm.channel<!small>
  %slot = sm.acquire %in : !sm.channel<!small>
  sm.copy cp_async %x[%o, %c0] to %slot : memref<12x10xf16> to !small
  sm.publish %in : !sm.channel<!small>
  %full = sm.take %in : !sm.channel<!small>
  sm.free %in : !sm.channel<!small>
}

/// Rows through two dimensions of memory: 32 threads copy 4 rows of 8 pieces in a round. The upper bits of a thread's row are its line, the lower one its column, of which the
/// copy takes every second. Each dimension that the copy may leave is checked.

// CHECK-LABEL: llvm.func @boxes(
//   CHECK-DAG:   %[[ONE:.*]] = llvm.mlir.constant(1 : i32)
//   CHECK-DAG:   %[[TWO:.*]] = llvm.mlir.constant(2 : i32)
//   CHECK-DAG:   %[[THREE:.*]] = llvm.mlir.constant(3 : i32)
//   CHECK-DAG:   %[[NINE:.*]] = llvm.mlir.constant(9 : i32)
//       CHECK:   %[[ROW:.*]] = llvm.lshr %{{.*}}, %[[THREE]]
//       CHECK:   %[[LINE:.*]] = llvm.lshr %[[ROW]], %[[ONE]]
//       CHECK:   %[[COLUMN:.*]] = llvm.and %[[ROW]], %[[ONE]]
//       CHECK:   llvm.icmp "ult" %{{.*}}, %[[NINE]]
//       CHECK:   %[[AT:.*]] = llvm.mul %[[COLUMN]], %[[TWO]]
//       CHECK:   llvm.icmp "ult"
//       CHECK:   nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg
//       CHECK:   nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg
//   CHECK-NOT:   nvvm.cp.async.shared.global
//       CHECK:   llvm.return
!lines = !sm.buffer<8x64xf16, shared, <[8 offset:64] [64 offset]>>
sm.kernel @boxes grid [3] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<9x10x64xf16>, %out: memref<12x10xf16>):
  %c0 = arith.constant 0 : index
  %line = affine.apply affine_map<(i) -> (i * 4 - 1)>(%i)
  %column = affine.apply affine_map<(i) -> (i * 4 - 1)>(%i)
  %in = sm.channel depth 1 : !sm.channel<!lines>
  %slot = sm.acquire %in : !sm.channel<!lines>
  sm.copy cp_async %x[%line, %column, %c0] to %slot dims [0, 1, 2] box [4, 2, 64] strides [1, 2, 1] : memref<9x10x64xf16> to !lines
  sm.publish %in : !sm.channel<!lines>
  %full = sm.take %in : !sm.channel<!lines>
  sm.free %in : !sm.channel<!lines>
}

// -----

// ERROR: E4051 target: while compiling kernel no_free_slot: 'sm.acquire' at {{.*}} waits for a free slot, but its own threads hold all 1 slots; free one first
!x = !sm.buffer<8x8xf16, shared, <[8 offset:8] [8 offset]>>
!in = !sm.channel<!x>
sm.kernel @no_free_slot grid [1] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<8x8xf16>, %out: memref<8x8xf16>):
  %in = sm.channel depth 1 : !in
  %first = sm.acquire %in : !in
  sm.publish %in : !in
  %second = sm.acquire %in : !in
}

// -----

/// cp.async copies at least 4 bytes.

// ERROR: E4051 target: while compiling kernel odd_rows: 'sm.copy' at {{.*}} moves rows of 18 bytes from offsets that are multiples of 0, but cp.async copies aligned pieces of 4, 8 or 16 bytes
!x = !sm.buffer<8x8xf16, shared, <[8 offset:8] [8 offset]>>
!in = !sm.channel<!x>
sm.kernel @odd_rows grid [1] inputs 1 warps 1 {
^bb0(%i: index, %x: memref<8x9xf16>, %out: memref<8x8xf16>):
  %c0 = arith.constant 0 : index
  %in = sm.channel depth 1 : !in
  %slot = sm.acquire %in : !in
  sm.copy cp_async %x[%c0, %c0] to %slot : memref<8x9xf16> to !x
  sm.publish %in : !in
}
