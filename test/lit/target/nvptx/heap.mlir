// RUN: not tilewright-opt %s --nvptx-print-code="level=nvvm chip=sm_90a" -o /dev/null 2>/dev/null | FileCheck %s
// RUN: not tilewright-opt %s --nvptx-print-code="level=nvvm chip=sm_90a" -o /dev/null 2>&1 >/dev/null | FileCheck %s --check-prefix=ERROR

/// Without NVSHMEM's device library there is no PTX. A window on the heap is a pointer to this rank's part; all threads call the put, one thread
/// waits, then a fence at the scope of the system, because NVSHMEM's is at that of the GPU.

// CHECK-DAG: llvm.func @nvshmemx_putmem_signal_block(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i64, i32, i32) attributes {convergent}
// CHECK-DAG: llvm.func @nvshmem_signal_wait_until(!llvm.ptr, i32, i64) -> i64 attributes {convergent}
// CHECK-LABEL: llvm.func @put
//       CHECK:   llvm.call @nvshmemx_putmem_signal_block
//       CHECK:   llvm.call @nvshmem_signal_wait_until
//       CHECK:   fence.acq_rel.sys
//       CHECK:   nvvm.barrier
//       CHECK:   nvvm.barrier
//       CHECK:   fence.acq_rel.sys
//       CHECK:   llvm.call @nvshmemx_signal_op
//       CHECK:   llvm.call @nvshmem_signal_wait_until
//       CHECK:   fence.acq_rel.sys
//       ERROR: E4050 {{.*}}a kernel calls nvshmem{{.*}}, but no device library is given; pass the path of NVSHMEM's libnvshmem_device bitcode
sm.kernel @put grid [2] inputs 1 warps 4 {
^bb0(%p: index, %in: memref<4x64xf32, "heap">, %out: memref<4x64xf32, "heap">, %f: memref<4x5x3xi64, "heap">, %s: memref<4x2x8xi64, "heap">):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.put %in[%c0] count 32, %out[%c1][%c0], %f[%p] : memref<4x64xf32, "heap">, memref<4x64xf32, "heap">, memref<4x5x3xi64, "heap">
  tile.wait %f[%p] : memref<4x5x3xi64, "heap">
  tile.barrier %s : memref<4x2x8xi64, "heap">
}
