// Inline assembly: blocks with names of their own, twice the same ones.
extern "C" __global__ void blocks(unsigned *p, unsigned long long *q, float *f) {
  unsigned i = threadIdx.x, r;
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    asm volatile("{\n\t.reg .pred p;\n\t.reg .b32 tmp<3>;\n\t"
                 "setp.lt.u32 p, %1, 7;\n\t@p bra DONE;\n\tadd.u32 tmp1, %1, 1;\n\tst.global.u32 [%2], tmp1;\n"
                 "DONE:\n\tmov.u32 %0, WARP_SZ;\n\t}" : "=r"(r) : "r"(i + k), "l"(p + k) : "memory");
  }
  asm volatile("{ .reg .v4 .f32 v; ld.global.v4.f32 v, [%0]; { .reg .f32 x; add.f32 x, v.x, v.w; st.global.f32 [%0+16], x; } }"
               :: "l"(f) : "memory");
  unsigned lo, hi;
  asm("mov.b64 {%0, %1}, %2;" : "=r"(lo), "=r"(hi) : "l"(q[0]));
  asm("add.cc.u32 %0, %0, %2; addc.u32 %1, %1, 0;" : "+r"(lo), "+r"(hi) : "r"(r));
  asm("mad.lo.cc.u32 %0, %2, %3, %0; madc.hi.u32 %1, %2, %3, %1;" : "+r"(lo), "+r"(hi) : "r"(r), "r"(i));
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r) : "r"(lo), "r"(hi), "r"(i));
  asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(hi) : "r"(lo), "r"(r), "r"(i));
  asm volatile("prefetch.global.L2 [%0]; discard.global.L2 [%0], 128;" :: "l"(p));
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("ld.global.L1::no_allocate.L2::cache_hint.L2::128B.u32 %0, [%1], %2;" : "=r"(lo) : "l"(p), "l"(policy));
  asm volatile("st.global.L2::cache_hint.v2.u32 [%0], {%1, %2}, %3;" :: "l"(p), "r"(lo), "r"(hi), "l"(policy));
  asm volatile("bfe.u32 %0, %1, 4, 8; bfi.b32 %0, %0, %1, 8, 8; bfind.shiftamt.u32 %0, %0;" : "+r"(r) : "r"(lo));
  asm volatile("{ .reg .b16 h; cvt.rn.f16.f32 h, %1; ex2.approx.f16 h, h; cvt.u32.u16 %0, h; }" : "=r"(r) : "f"(f[0]));
  asm volatile("brkpt; pmevent 3; membar.gl; fence.acq_rel.gpu; bar.sync 1, 64; bar.arrive 2, 96; barrier.sync.aligned 3;");
  p[i] = r + lo + hi;
}
