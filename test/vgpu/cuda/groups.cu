// Groups of lanes that form as they go, and tiles that come through a pipeline.
//   nvcc -std=c++17 -arch=sm_90a -ptx groups.cu
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

// Lanes with equal keys form a group; each gets its place in it and the group's sum.
extern "C" __global__ void group_by_key(const int *keys, const int *values, int *places,
                                        int *sums) {
  const int i = threadIdx.x;
  cg::coalesced_group active = cg::coalesced_threads();
  auto group = cg::labeled_partition(active, keys[i]);
  places[i] = cg::exclusive_scan(group, 1);
  sums[i] = cg::reduce(group, values[i], cg::plus<int>());
}

// Two stages of asynchronous copies ahead of the sum of each column.
extern "C" __global__ void sum_columns(const float *matrix, int rows, float *sums) {
  __shared__ float tiles[2][4][128];
  const int t = threadIdx.x;
  auto fetch = [&](int first, int stage) {
    for (int r = 0; r < 4; ++r)
      __pipeline_memcpy_async(&tiles[stage][r][t], matrix + (first + r) * 128 + t, sizeof(float));
    __pipeline_commit();
  };
  float sum = 0;
  fetch(0, 0);
  for (int first = 0, stage = 0; first < rows; first += 4, stage ^= 1) {
    if (first + 4 < rows)
      fetch(first + 4, stage ^ 1);
    __pipeline_wait_prior(first + 4 < rows ? 1 : 0);
    __syncthreads();
    for (int r = 0; r < 4; ++r)
      sum += tiles[stage][r][t];
    __syncthreads();
  }
  sums[t] = sum;
}
