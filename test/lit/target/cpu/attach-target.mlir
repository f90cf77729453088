// RUN: tilewright-opt %s --cpu-attach-target=chip=x86-64-v3 | FileCheck %s
// RUN: not tilewright-opt %s --cpu-attach-target=chip=pentium 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CHECK: exec.target = #exec.target<chip = "x86-64-v3", units = {{[0-9]+}}
// UNKNOWN: E4005 target: unknown chip 'pentium'; known chips are {{.*}}x86-64-v4
module {}
