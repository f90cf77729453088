// Buffer resources with bounds, loads directly into LDS, scratch arrays with computed indices, every width.
#include "device.h"

KERNEL void buffers(void *base, int bytes, int offset) {
  const auto resource = __builtin_amdgcn_make_buffer_rsrc(base, 0, bytes, 0x27000);
  const uint v = lane() * 16;
  typedef uint uint4v __attribute__((ext_vector_type(4)));
  const uint4v x = __builtin_amdgcn_raw_buffer_load_b128(resource, v, offset, 0);
  const uint y = __builtin_amdgcn_raw_buffer_load_b32(resource, v + 4096, offset, 1);
  const unsigned short z = __builtin_amdgcn_raw_buffer_load_b16(resource, v, 0, 2);
  __builtin_amdgcn_raw_buffer_store_b128(x + y, resource, v, offset, 3);
  __builtin_amdgcn_raw_buffer_store_b8(z, resource, v + 1, 0, 0);
}
KERNEL void direct(const int *in, int *out) {
  __shared__ int local[64];
  typedef __attribute__((address_space(1))) void *GlobalPointer;
  typedef __attribute__((address_space(3))) void *LocalPointer;
  __builtin_amdgcn_global_load_lds((GlobalPointer)(in + lane()), (LocalPointer)local, 4, 0, 0);
  barrier();
  out[lane()] = local[63 - (lane() & 63)];
}
KERNEL void spilled(const int *in, int *out, int n) {
  int array[40];
  for (int i = 0; i < 40; ++i)
    array[i] = in[i] * n;
  for (int i = 0; i < n; ++i)
    array[(array[i % 40] & 31) + (lane() & 7)] += i;
  out[index()] = array[lane() % 40];
}
KERNEL void widths(const signed char *a, const short *b, const u64 *c, float4v *d) {
  const uint i = index();
  d[i] = float4v{float(a[i]), float(b[i]), float(c[i]), float(c[i + 1] >> 32)};
}
