// f16 and packed arithmetic: VOP3P, op_sel, SDWA, mixed precision, conversions.
#include "device.h"

KERNEL void packed(const half2v *a, const half2v *b, half2v *c) {
  const uint i = index();
  const half2v x = a[i], y = b[i];
  c[i] = __builtin_elementwise_max(x * y + x, y) - half2v{y.y, y.x};
}
KERNEL void mixed(const _Float16 *a, const float *b, float *c, _Float16 *d) {
  const uint i = index();
  c[i] = float(a[i]) * b[i] + c[i];
  d[i] = _Float16(float(a[i]) * b[i] + float(d[i]));
}
KERNEL void scalar(const _Float16 *a, _Float16 *b, short *c) {
  const uint i = index();
  b[i] = __builtin_fabsf16(a[i]) * b[i] - a[i] / _Float16(3);
  c[i] = short(a[i]) + (a[i] < b[i]);
}
KERNEL void shorts(const short *a, const unsigned short *b, short *c) {
  typedef short short2v __attribute__((ext_vector_type(2)));
  const uint i = index();
  const short2v x = ((const short2v *)a)[i], y = ((const short2v *)b)[i];
  ((short2v *)c)[i] = __builtin_elementwise_min(x * y + x, y >> short2v{3, 2});
}
