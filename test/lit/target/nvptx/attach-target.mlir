// RUN: tilewright-opt %s --nvptx-attach-target=chip=sm_80 | FileCheck %s
// RUN: not tilewright-opt %s --nvptx-attach-target=chip=sm_70 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CHECK: exec.target = #exec.target<chip = "sm_80", units = 108, tile_elements = 8192, gpu = <shared_bytes = 166912>, matrix = <types = [f16, bf16, tf32, f64, i8]>, rates = <f16 = 1024, tf32 = 512, s8 = 2048, matrix_latency = 33, copy_latency = 700, l2_bytes_per_cycle = 5120, memory_bytes_per_cycle = 1103, l2_bytes = 40000000>>
// UNKNOWN: E4053 target: unknown chip 'sm_70'; known chips are sm_80 sm_86 sm_87 sm_89 sm_90a sm_100a sm_103a sm_110a sm_120a sm_121a
module {}
