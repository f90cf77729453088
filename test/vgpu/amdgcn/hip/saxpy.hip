// The first kernel of every tutorial, with its guard and a loop over the grid.
#include "device.h"

KERNEL void saxpy(const float *x, float *y, float a, int n) {
  const int i = index();
  if (i < n)
    y[i] = a * x[i] + y[i];
}
KERNEL void saxpy_strided(const float *x, float *y, float a, int n, int step) {
  for (int i = index(); i < n; i += step)
    y[i] = a * x[i] + y[i];
}
KERNEL void axpy_double(const double *x, double *y, double a, int n) {
  const int i = index();
  if (i < n)
    y[i] = a * x[i] + y[i];
}
KERNEL void divide(const float *x, const float *y, float *z, int n) {
  const int i = index();
  if (i < n)
    z[i] = x[i] / y[i];
}
KERNEL void integers(const int *x, const int *y, int *z, int n) {
  const int i = index();
  if (i < n)
    z[i] = x[i] / y[i] + x[i] % y[i] * 3 + (x[i] >> (y[i] & 31)) + (int)((long long)x[i] * y[i] >> 32);
}
KERNEL void reversed(const int *in, int *out) { // a barrier between waves
  __shared__ int local[256];
  local[lane()] = in[index()];
  barrier();
  out[index()] = local[255 - lane()];
}
KERNEL void block_sum(const float *in, float *out, int n) { // LDS, barriers and divergence
  __shared__ float local[256];
  const uint i = index();
  local[lane()] = i < n ? in[i] : 0.0f;
  barrier();
  for (uint step = 128; step > 0; step >>= 1) {
    if (lane() < step)
      local[lane()] += local[lane() + step];
    barrier();
  }
  if (lane() == 0)
    out[group()] = local[0];
}
KERNEL void histogram(const int *in, int *bins, int n) { // atomics of LDS and of memory
  __shared__ int local[16];
  if (lane() < 16)
    local[lane()] = 0;
  barrier();
  const uint i = index();
  if (i < n)
    __atomic_fetch_add(&local[in[i] & 15], 1, __ATOMIC_RELAXED);
  barrier();
  if (lane() < 16)
    __atomic_fetch_add(&bins[lane()], local[lane()], __ATOMIC_RELAXED);
}
__device__ int table[4] = {3, 1, 4, 1};
__device__ int *pointer = &table[2]; // a relocation
KERNEL void relocated(int *out) { out[lane()] = pointer[-(int)(lane() & 1)] + table[lane() & 3]; }
