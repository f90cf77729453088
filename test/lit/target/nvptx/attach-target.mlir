// RUN: tilewright-opt %s --nvptx-attach-target=chip=sm_80 | FileCheck %s
// RUN: not tilewright-opt %s --nvptx-attach-target=chip=sm_70 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CHECK: exec.target = {chip = "sm_80", kind = "gpu", matrix = {instruction = "mma", types = ["f16", {{.*}}]}, max_cluster = 1 : i64, max_registers = 255 : i64, max_threads = 1024 : i64, processor_shared_bytes = 167936 : i64, processor_threads = 2048 : i64, processors = 108 : i64, rates = {{{.*}}}, registers = 65536 : i64, sector_bytes = 32 : i64, shared_bytes = 166912 : i64, triple = "nvptx64-nvidia-cuda", warp_size = 32 : i64}
// UNKNOWN: E4053 target: no chip 'sm_70'; known are sm_80 sm_90a sm_100a sm_103a sm_120a sm_121a
module {}
