// Atomics with scopes and orders, votes, matches, fences, cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;

extern "C" __global__ void scopes(int *p, unsigned long long *q, float *f, double *d, __half2 *h) {
  __shared__ int s[32];
  s[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd_block(&s[0], 1);
  atomicMax_system(p, s[0]);
  atomicMin(p + 1, 3);
  atomicAnd(p + 2, 7);
  atomicOr((unsigned *)p + 3, 8u);
  atomicXor(p + 4, 5);
  atomicExch(f, 2.0f);
  atomicCAS(q, 1ull, 2ull);
  atomicInc((unsigned *)p + 5, 9u);
  atomicDec((unsigned *)p + 6, 9u);
  atomicAdd(d, 1.5);
  atomicAdd(h, __floats2half2_rn(1.0f, 2.0f));
  atomicSub(p + 7, 2);
  atomicCAS((unsigned short *)p, (unsigned short)1, (unsigned short)2);
  __threadfence_block();
  __threadfence();
  __threadfence_system();
}

extern "C" __global__ void orders(int *p) {
  cuda::atomic_ref<int, cuda::thread_scope_device> a(*p);
  a.fetch_add(1, cuda::memory_order_acquire);
  a.store(3, cuda::memory_order_release);
  int v = a.load(cuda::memory_order_acquire);
  a.compare_exchange_strong(v, 4, cuda::memory_order_seq_cst);
  cuda::atomic_ref<int, cuda::thread_scope_system> b(p[1]);
  b.fetch_or(v, cuda::memory_order_relaxed);
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_block);
}

extern "C" __global__ void warps(unsigned *p) {
  unsigned i = threadIdx.x;
  unsigned v = p[i];
  unsigned r = __ballot_sync(~0u, v > 3) + __any_sync(~0u, v == 1) + __all_sync(~0u, v == 2);
  int same;
  r += __match_any_sync(~0u, v) + __match_all_sync(~0u, v, &same) + same + __activemask();
  r += __shfl_xor_sync(~0u, v, 1) + __shfl_up_sync(~0u, v, 2, 16) + __shfl_sync(~0u, v, 5);
  r += __reduce_add_sync(~0u, v) + __reduce_max_sync(~0u, (int)v) + __reduce_or_sync(~0u, v);
  __syncwarp(0xffff);
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  r += cg::reduce(tile, v, cg::plus<unsigned>()) ;
  r += __syncthreads_count(v > 1) + __syncthreads_and(v > 2) + __syncthreads_or(v);
  p[i] = r + __dp4a(r, v, 3u) + __fns(v, 0, 2) + __funnelshift_l(r, v, 3);
  __nanosleep(20);
  if (clock64() == 0 || clock() == 1)
    __trap();
}
