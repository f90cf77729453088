// RUN: tilewright-opt %s --amdgcn-attach-target=chip=gfx942 | FileCheck %s
// RUN: tilewright-opt %s --amdgcn-attach-target | FileCheck %s --check-prefix=GFX950
// RUN: not tilewright-opt %s --amdgcn-attach-target=chip=gfx90a 2>&1 | FileCheck %s --check-prefix=UNKNOWN

//  CHECK: exec.target = #exec.target<chip = "gfx942", units = 304, tile_elements = 8192, gpu = <warp_size = 64, registers = 131072, max_registers = 256, shared_bytes = 65536, sector_bytes = 64>, matrix = <types = [f16, bf16, f32, f64, i8]>, rates = <f16 = 1024, tf32 = 512, f8 = 2048, s8 = 2048
// GFX950: exec.target = #exec.target<chip = "gfx950", units = 256, {{.*}}shared_bytes = 163840, {{.*}}types = [f16, bf16, f32, f64, i8, f8E4M3FN, f8E5M2]
// UNKNOWN: E4053 target: unknown chip 'gfx90a'; known chips are gfx942 gfx950
module {}
