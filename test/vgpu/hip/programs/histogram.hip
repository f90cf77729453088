// Counts by atomics in LDS, then by atomics in memory.
#include "check.h"

__global__ void count(const unsigned char *values, int n, unsigned *bins) {
  __shared__ unsigned mine[256];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&mine[values[i]], 1u);
  __syncthreads();
  if (mine[threadIdx.x] != 0)
    atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

int main() {
  const int n = 20000;
  std::vector<unsigned char> values(n);
  std::vector<unsigned> expected(256);
  for (int i = 0; i < n; ++i)
    ++expected[values[i] = static_cast<unsigned char>(i * i % 251)];
  unsigned char *in = toDevice(values);
  unsigned *bins = nullptr;
  HIP(hipMalloc(&bins, 256 * sizeof(unsigned)));
  HIP(hipMemset(bins, 0, 256 * sizeof(unsigned)));
  count<<<6, 256>>>(in, n, bins);
  expect(toHost(bins, 256), expected);
  std::puts("passed");
}
