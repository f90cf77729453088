// Integer arithmetic that is not a single instruction: 64 bits, division, bit fields, saturation.
#include "device.h"

KERNEL void divide(const long *a, const long *b, long *quotient, long *rest) {
  const uint i = index();
  quotient[i] = a[i] / b[i];
  rest[i] = a[i] % b[i];
}
KERNEL void divide32(const int *a, const int *b, uint *c) {
  const uint i = index();
  c[i] = uint(a[i] / b[i]) + uint(a[i]) % uint(b[i]);
}
KERNEL void bits(const uint *a, const u64 *b, uint *c) {
  const uint i = index();
  uint x = a[i];
  c[i] = __builtin_popcount(x) + __builtin_clz(x | 1) + __builtin_ctz(x | 2) + __builtin_bitreverse32(x) +
         __builtin_popcountll(b[i]) + __builtin_rotateleft32(x, 7) + ((x >> 5) & 0x3f) + __builtin_bswap32(x);
}
KERNEL void bytes(const signed char *a, const unsigned short *b, int *c, short *d) {
  const uint i = index();
  c[i] = a[i] * 3 + b[i];
  d[i] = short(a[i] << 4 ^ b[i]);
}
KERNEL void saturate(const int *a, const int *b, int *c) {
  const uint i = index();
  c[i] = __builtin_elementwise_add_sat(a[i], b[i]) + __builtin_elementwise_sub_sat(uint(a[i]), uint(b[i])) +
         __builtin_amdgcn_sad_u8(a[i], b[i], 5) + __builtin_amdgcn_perm(a[i], b[i], 0x03020100);
}
