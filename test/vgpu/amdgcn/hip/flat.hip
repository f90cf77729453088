// Generic pointers: flat loads and stores, the apertures of LDS and scratch, large structures.
#include "device.h"

struct Large {
  int values[24];
};
__device__ __attribute__((noinline)) int sum(const int *p, int n) {
  int result = 0;
  for (int i = 0; i < n; ++i)
    result += p[i];
  return result;
}
KERNEL void generic(const int *global, int *out, int which) {
  __shared__ int local[64];
  int stack[16];
  for (int i = 0; i < 16; ++i)
    stack[i] = global[i + which];
  local[lane() & 63] = global[lane()];
  barrier();
  const int *p = which == 0 ? global : which == 1 ? local : stack;
  out[lane()] = sum(p, 16) + __builtin_amdgcn_is_shared((const void *)p);
}
KERNEL void copy(const Large *in, Large *out) { out[index()] = in[index()]; }
KERNEL void volatileAccess(volatile int *x, volatile unsigned char *y) {
  x[lane()] = x[lane()] + 1;
  y[lane()] = y[lane() + 1];
}
KERNEL void nontemporal(const float4v *in, float4v *out) {
  __builtin_nontemporal_store(__builtin_nontemporal_load(in + index()) * 2.0f, out + index());
}
