// RUN: tilewright-opt %s --cpu-attach-target=chip=x86-64-v3 | FileCheck %s
// RUN: not tilewright-opt %s --cpu-attach-target=chip=pentium 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CHECK: exec.target = {{.*}}vector_bytes = 32
// UNKNOWN: E4005 target: no chip 'pentium'; known are {{.*}}x86-64-v4
module {}
