// Blocks that work together: a histogram over a cluster, and a sum over the grid.
//   nvcc -std=c++17 -arch=sm_90a -ptx cluster.cu
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

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
