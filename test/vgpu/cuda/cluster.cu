// Blocks that work together: a histogram over a cluster, a sum over the grid, and
// tiles that come through pipelines.
//   nvcc -std=c++17 -arch=sm_90a -ptx cluster.cu
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

// Each block of a cluster keeps a quarter of the bins; threads add to that of any.
extern "C" __global__ void __cluster_dims__(4, 1, 1)
    histogram(const unsigned *values, int count, unsigned *bins) {
  __shared__ unsigned mine[64];
  cg::cluster_group cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < 64; i += blockDim.x)
    mine[i] = 0;
  cluster.sync();
  const int first = cluster.thread_rank() + cluster.num_threads() * (blockIdx.x / 4);
  for (int i = first; i < count; i += gridDim.x * blockDim.x) {
    const unsigned bin = values[i] % 256;
    atomicAdd(cluster.map_shared_rank(mine, bin / 64) + bin % 64, 1);
  }
  cluster.sync();
  for (int i = threadIdx.x; i < 64; i += blockDim.x)
    atomicAdd(bins + cluster.block_rank() * 64 + i, mine[i]);
}

// A cooperative grid: every block writes a partial sum, one adds them.
extern "C" __global__ void sum_grid(const int *values, int count, int *partial, int *result) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  __shared__ int sums[32];
  int sum = 0;
  for (int i = grid.thread_rank(); i < count; i += grid.size())
    sum += values[i];
  sum = cg::reduce(warp, sum, cg::plus<int>());
  if (warp.thread_rank() == 0)
    sums[warp.meta_group_rank()] = sum;
  block.sync();
  if (threadIdx.x == 0) {
    int total = 0;
    for (int i = 0; i < blockDim.x / 32; ++i)
      total += sums[i];
    partial[blockIdx.x] = total;
  }
  grid.sync();
  if (grid.thread_rank() == 0) {
    int total = 0;
    for (int i = 0; i < gridDim.x; ++i)
      total += partial[i];
    *result = total;
  }
}

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
