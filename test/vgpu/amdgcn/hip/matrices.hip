// MFMA with AGPRs, dot products, LDS tiles.
#include "device.h"

KERNEL void mfma(const half4v *a, const half4v *b, float16v *c) {
  float16v acc = c[lane()];
  for (int k = 0; k < 8; ++k)
    acc = __builtin_amdgcn_mfma_f32_32x32x8f16(a[64 * k + lane()], b[64 * k + lane()], acc, 0, 0, 0);
  c[lane()] = acc;
}
KERNEL void bytes(const long *a, const long *b, float4v *c) {
  c[lane()] = __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8(a[lane()], b[lane()], c[lane()], 0, 0, 0);
}
KERNEL void broadcast(const float *a, const float *b, float4v *c) {
  c[lane()] = __builtin_amdgcn_mfma_f32_4x4x1f32(a[lane()], b[lane()], c[lane()], 4, 3, 2);
}
KERNEL void dots(const int *a, const int *b, int *c, const half2v *x, float *y) {
  const uint i = index();
  c[i] = __builtin_amdgcn_sdot4(a[i], b[i], c[i], true) + __builtin_amdgcn_sdot8(a[i], b[i], 1, false);
  y[i] = __builtin_amdgcn_fdot2(x[i], x[i + 1], y[i], false);
}
KERNEL void tile(const float4v *a, float4v *out) {
  __shared__ float4v tiles[2][256];
  float4v sum = {};
  for (int k = 0; k < 4; ++k) {
    tiles[k & 1][lane()] = a[256 * k + lane()];
    barrier();
    for (int j = 0; j < 8; ++j)
      sum += tiles[k & 1][(lane() * 8 + j) & 255];
  }
  out[index()] = sum;
}
