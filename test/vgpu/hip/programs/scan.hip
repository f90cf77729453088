// A prefix sum in one pass: each block waits for the sum of the block before it.
#include "check.h"

__device__ int turn;

__global__ void scan(const int *in, int *out, int n, int *sums, int *isReady) {
  __shared__ int partial[256];
  __shared__ int block;
  if (threadIdx.x == 0)
    block = atomicAdd(&turn, 1); // blocks in the order in which they start
  __syncthreads();
  const int i = block * 256 + threadIdx.x;
  partial[threadIdx.x] = i < n ? in[i] : 0;
  for (int distance = 1; distance < 256; distance *= 2) {
    __syncthreads();
    const int before = int(threadIdx.x) >= distance ? partial[threadIdx.x - distance] : 0;
    __syncthreads();
    partial[threadIdx.x] += before;
  }
  __syncthreads();
  __shared__ int offset;
  if (threadIdx.x == 0) {
    offset = 0;
    if (block > 0) {
      while (__hip_atomic_load(&isReady[block - 1], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {
      }
      offset = sums[block - 1];
    }
    sums[block] = offset + partial[255];
    __hip_atomic_store(&isReady[block], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  }
  __syncthreads();
  if (i < n)
    out[i] = offset + partial[threadIdx.x];
}

int main() {
  const int n = 5000, blocks = (n + 255) / 256;
  std::vector<int> in(n), expected(n);
  for (int i = 0, sum = 0; i < n; ++i)
    expected[i] = sum += in[i] = i % 13 - 5;
  int *from = toDevice(in), *to = toDevice(std::vector<int>(n));
  int *sums = toDevice(std::vector<int>(blocks)), *isReady = toDevice(std::vector<int>(blocks));
  scan<<<blocks, 256>>>(from, to, n, sums, isReady);
  expect(toHost(to, n), expected);
  int started = 0;
  HIP(hipMemcpyFromSymbol(&started, HIP_SYMBOL(turn), sizeof started));
  if (started != blocks)
    return std::printf("%d blocks started, expected %d\n", started, blocks), 1;
  std::puts("passed");
}
