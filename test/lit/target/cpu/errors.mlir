// RUN: not tilewright-opt %s --cpu-attach-target=chip=pentium 2>&1 | FileCheck %s

// CHECK: E4005 target: unknown chip 'pentium'; known chips are x86-64-v2 x86-64-v3 x86-64-v4 sapphirerapids
module {}
