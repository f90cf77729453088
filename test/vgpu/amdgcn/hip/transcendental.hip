// f32: approximations, rounding, classification, clamps and the modifiers of VOP3.
#include "device.h"

KERNEL void functions(const float *x, float *y) {
  const float v = x[index()];
  y[index()] = __builtin_amdgcn_exp2f(v) + __builtin_amdgcn_logf(v) * __builtin_amdgcn_rsqf(v) + __builtin_amdgcn_sinf(v) +
               __builtin_amdgcn_rcpf(v) + __builtin_amdgcn_fractf(v) + __builtin_sqrtf(v) + 1.0f / v;
}
KERNEL void modifiers(const float *x, float *y) {
  const float v = x[index()], w = x[index() + 1];
  const float a = __builtin_fabsf(v) * -w, b = __builtin_fma(-v, __builtin_fabsf(w), 2.0f);
  y[index()] = __builtin_amdgcn_fmed3f(a + b, 0.0f, 1.0f) + __builtin_fminf(__builtin_fmaxf(a, b), -w) * 4.0f;
}
KERNEL void rounding(const float *x, int *n, float *y, unsigned char *c) {
  const uint i = index();
  const float v = x[i];
  n[i] = int(__builtin_rintf(v)) + __builtin_amdgcn_class(v, 0x3) + __builtin_amdgcn_frexp_expf(v);
  y[i] = __builtin_ceilf(v) + __builtin_copysignf(v, 3.0f) + __builtin_ldexpf(v, n[i + 1]) + __builtin_amdgcn_frexp_mantf(v);
  c[i] = (unsigned char)(v);
}
KERNEL void pairs(const float *x, float *y) {
  typedef float float2v __attribute__((ext_vector_type(2)));
  const float2v a = ((const float2v *)x)[index()], b = ((const float2v *)y)[index()];
  ((float2v *)y)[index()] = a * b + float2v{b.y, b.x};
}
