// A sum in LDS and across lanes, then an atomic addition for each block.
#include "check.h"

__global__ void sum(const int *values, int n, int *total) {
  __shared__ int partial[16];
  int mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    mine += values[i];
  for (int distance = warpSize / 2; distance > 0; distance /= 2)
    mine += __shfl_down(mine, distance);
  const int lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize;
  if (lane == 0)
    partial[wave] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    int all = 0;
    for (int i = 0; i < int(blockDim.x / warpSize); ++i)
      all += partial[i];
    atomicAdd(total, all);
  }
}

int main() {
  const int n = 10007;
  std::vector<int> values(n), expected(1);
  for (int i = 0; i < n; ++i)
    expected[0] += values[i] = i % 97 - 40;
  int *in = toDevice(values), *out = toDevice(std::vector<int>{0});
  sum<<<5, 256>>>(in, n, out);
  expect(toHost(out, 1), expected);
  std::puts("passed");
}
