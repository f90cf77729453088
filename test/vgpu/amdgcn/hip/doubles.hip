// f64: arithmetic, division, square root, conversions, MFMA.
#include "device.h"

KERNEL void polynomial(const double *x, double *y) {
  const double v = x[index()];
  y[index()] = __builtin_fma(__builtin_fma(v, 0.5, -1.25), v, 3.0e-7) / (v * v + 1.0);
}
KERNEL void roots(const double *x, double *y, float *z, int *n) {
  const uint i = index();
  y[i] = __builtin_sqrt(x[i]) + __builtin_floor(x[i]) - __builtin_trunc(x[i]) + __builtin_fmin(x[i], 2.0);
  z[i] = float(x[i]);
  n[i] = int(x[i]) + (x[i] > 1e300) + __builtin_isnan(x[i]);
}
KERNEL void product(const double *a, const double *b, double4v *c) {
  c[lane()] = __builtin_amdgcn_mfma_f64_16x16x4f64(a[lane()], b[lane()], c[lane()], 0, 0, 0);
}
