// Kernels whose blocks work in clusters of two or four.
// clusters.ptx is what nvcc 13.0 makes of it: nvcc -arch=sm_90a -ptx clusters.cu
#include "async.h"

#define CLUSTER_KERNEL(name, threads, blocks) \
  extern "C" __global__ void __launch_bounds__(threads) __cluster_dims__(blocks, 1, 1) \
      name(const uint32_t *__restrict__ in, uint32_t *out, uint32_t *scratch)

// Sums of four blocks, read from each other's memory.
CLUSTER_KERNEL(cluster_reduce, 64, 4) {
  __shared__ uint32_t sums[64];
  const int t = threadIdx.x;
  sums[t] = in[blockIdx.x * 64 + t];
  clusterArrive();
  clusterWait();
  uint32_t sum = 0;
  for (uint32_t rank = 0; rank < 4; ++rank)
    sum += loadRemote(inBlock(address(&sums[(t + rank) % 64]), rank)) * (rank + 1);
  out[blockIdx.x * 64 + t] = sum;
  clusterArrive();
  clusterWait();
}

// Each block writes to the next one, three rounds, two buffers.
CLUSTER_KERNEL(cluster_ring, 64, 4) {
  __shared__ uint32_t values[2][64];
  const int t = threadIdx.x;
  const uint32_t next = (rankInCluster() + 1) % 4;
  uint32_t value = in[blockIdx.x * 64 + t];
  clusterArrive();
  clusterWait();
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    storeRemote(inBlock(address(&values[i % 2][63 - t]), next), value + i);
    clusterArrive();
    clusterWait();
    value = values[i % 2][t] * 3;
  }
  out[blockIdx.x * 64 + t] = value;
}

// Arrival and wait with other work between.
CLUSTER_KERNEL(cluster_split, 64, 2) {
  __shared__ uint32_t values[64], own[64];
  const int t = threadIdx.x;
  values[t] = in[blockIdx.x * 64 + t];
  clusterArrive();
  own[t] = in[t] + 5;
  __syncthreads();
  uint32_t sum = own[63 - t];
  clusterWait();
  sum += loadRemote(inBlock(address(&values[63 - t]), rankInCluster() ^ 1));
  clusterArrive();
  out[blockIdx.x * 64 + t] = sum;
  clusterWait();
}

// st.async into the memory of the other block, which waits for the bytes.
CLUSTER_KERNEL(cluster_st_async, 64, 2) {
  __shared__ uint32_t values[64];
  __shared__ uint64_t full;
  const int t = threadIdx.x;
  const uint32_t other = rankInCluster() ^ 1;
  if (t == 0) {
    init(address(&full), 1);
    fenceInit();
  }
  clusterArriveRelaxed();
  clusterWait();
  if (t == 0)
    arriveExpect(address(&full), 256);
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(
          inBlock(address(&values[63 - t]), other)),
      "r"(in[blockIdx.x * 64 + t] * 3), "r"(inBlock(address(&full), other))
      : "memory");
  waitCluster(address(&full), 0);
  out[blockIdx.x * 64 + t] = values[t];
  clusterArrive();
  clusterWait();
}

// Block 0 writes into buffers of block 1 and signals its mbarrier; credits come back.
CLUSTER_KERNEL(cluster_mbarrier, 64, 2) {
  __shared__ uint32_t buffers[2][64];
  __shared__ uint64_t full[2], empty[2];
  const int t = threadIdx.x, steps = 6;
  if (t == 0) {
    for (int i = 0; i < 2; ++i) {
      init(address(&full[i]), 64);
      init(address(&empty[i]), 64);
    }
    fenceInit();
  }
  clusterArrive();
  clusterWait();
  if (rankInCluster() == 0) {
#pragma unroll 1
    for (int i = 0; i < steps; ++i) {
      waitCluster(address(&empty[i % 2]), (i / 2 + 1) % 2);
      storeRemote(inBlock(address(&buffers[i % 2][t]), 1), in[i * 64 + t] + i);
      arriveRemote(inBlock(address(&full[i % 2]), 1));
    }
  } else {
    uint32_t sum = 0;
#pragma unroll 1
    for (int i = 0; i < steps; ++i) {
      waitCluster(address(&full[i % 2]), i / 2 % 2);
      sum = sum * 3 + buffers[i % 2][63 - t];
      arriveRemote(inBlock(address(&empty[i % 2]), 0));
    }
    out[t] = sum;
  }
  clusterArrive();
  clusterWait();
}

// A bulk copy from the memory of one block to that of the other.
CLUSTER_KERNEL(cluster_bulk, 64, 2) {
  __shared__ __align__(128) uint32_t from[64], to[64];
  __shared__ uint64_t full;
  const int t = threadIdx.x;
  const uint32_t other = rankInCluster() ^ 1;
  from[t] = in[blockIdx.x * 64 + t] ^ 77;
  if (t == 0) {
    init(address(&full), 1);
    arriveExpect(address(&full), 256);
    fenceInit();
  }
  fenceAsync();
  clusterArrive();
  clusterWait();
  if (t == 0)
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], "
                 "[%1], 256, [%2];" ::"r"(inBlock(address(to), other)),
                 "r"(address(from)), "r"(inBlock(address(&full), other))
                 : "memory");
  waitCluster(address(&full), 0);
  out[blockIdx.x * 64 + t] = to[63 - t];
  clusterArrive();
  clusterWait();
}

// Each block loads half of a tile for both.
CLUSTER_KERNEL(cluster_multicast, 64, 2) {
  __shared__ __align__(128) uint32_t tile[2][128];
  __shared__ uint64_t full[2], empty[2];
  const int t = threadIdx.x, steps = 4;
  const uint32_t rank = rankInCluster();
  if (t == 0) {
    for (int i = 0; i < 2; ++i) {
      init(address(&full[i]), 1);
      init(address(&empty[i]), 4);
    }
    fenceInit();
  }
  clusterArriveRelaxed();
  clusterWait();
  uint32_t sum = 0;
#pragma unroll 1
  for (int i = 0; i < steps; ++i) {
    const int stage = i % 2;
    if (t == 0) {
      waitCluster(address(&empty[stage]), (i / 2 + 1) % 2);
      arriveExpect(address(&full[stage]), 512);
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                   ".multicast::cluster [%0], [%1], 256, [%2], %3;" ::"r"(
                       address(&tile[stage][rank * 64])),
                   "l"(in + i * 128 + rank * 64), "r"(address(&full[stage])), "h"((uint16_t)3)
                   : "memory");
    }
    __syncwarp();
    waitCluster(address(&full[stage]), i / 2 % 2);
    sum = sum * 3 + tile[stage][127 - t - rank * 64];
    fenceAsync();
    __syncwarp();
    if (t % 32 < 2)
      arriveRemote(inBlock(address(&empty[stage]), t % 32));
  }
  out[blockIdx.x * 64 + t] = sum;
  clusterArrive();
  clusterWait();
}

// Counts in the memory of the block that owns them.
CLUSTER_KERNEL(cluster_histogram, 64, 2) {
  __shared__ uint32_t counts[32];
  const int t = threadIdx.x;
  if (t < 32)
    counts[t] = 0;
  clusterArrive();
  clusterWait();
  for (int i = 0; i < 4; ++i) {
    const uint32_t key = in[blockIdx.x * 256 + i * 64 + t] % 64;
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" ::"r"(
                     inBlock(address(&counts[key % 32]), key / 32))
                 : "memory");
  }
  clusterArrive();
  clusterWait();
  if (t < 32)
    out[rankInCluster() * 32 + t] = counts[t];
}
