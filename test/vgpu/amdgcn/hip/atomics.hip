// Atomics in global memory and LDS, with the scopes and orders that change the cache instructions.
#include "device.h"

#define ADD(pointer, value, order, scope) __hip_atomic_fetch_add(pointer, value, order, scope)

KERNEL void counters(int *a, u64 *b, float *c, double *d) {
  const uint i = lane();
  ADD(a, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  b[i] = ADD(b, i, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_SYSTEM);
  ADD(c, 1.5f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  ADD(d, 2.5, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_AGENT);
}
KERNEL void orders(uint *a, uint *out) {
  uint expected = out[lane()];
  __hip_atomic_compare_exchange_strong(a, &expected, 7u, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
  out[lane()] = expected + __hip_atomic_exchange(a + 1, 9u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP) +
                __hip_atomic_fetch_max(a + 2, lane(), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) +
                __hip_atomic_load(a + 3, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
  __hip_atomic_store(a + 4, expected, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}
KERNEL void shared(const uint *in, uint *out) {
  __shared__ uint bins[256];
  __shared__ u64 total;
  bins[lane()] = 0;
  barrier();
  ADD(&bins[in[index()] & 255], 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_or(&total, u64(1) << (lane() & 63), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  barrier();
  out[index()] = bins[lane()] + __hip_atomic_fetch_min(&bins[0], 3u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}
