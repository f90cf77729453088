// Kernels that copy asynchronously: cp.async, mbarriers, bulk copies.
// copies.ptx is what nvcc 13.0 makes of it: nvcc -arch=sm_90a -ptx copies.cu
#include "async.h"

KERNEL(copy_once, 128) {
  __shared__ __align__(16) uint32_t tile[512];
  const int t = threadIdx.x, base = blockIdx.x * 512;
  copy16(address(tile + 4 * t), in + base + 4 * t);
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  for (int i = t; i < 512; i += 128)
    out[base + i] = tile[511 - i];
}

// Three stages in flight.
KERNEL(copy_stages, 128) {
  __shared__ __align__(16) uint32_t tiles[3][128];
  const int t = threadIdx.x, steps = 8;
  for (int i = 0; i < 2; ++i) {
    copy4(address(&tiles[i][t]), in + i * 128 + t);
    copyCommit();
  }
  uint32_t sum = 0;
#pragma unroll
  for (int i = 0; i < steps; ++i) {
    copyWait<1>();
    __syncthreads();
    if (i + 2 < steps)
      copy4(address(&tiles[(i + 2) % 3][t]), in + (i + 2) * 128 + t);
    copyCommit();
    sum = sum * 3 + tiles[i % 3][127 - t];
  }
  out[t] = sum;
}

// Four stages in a loop that is not unrolled, with a barrier before the buffer is used again.
KERNEL(copy_loop, 128) {
  __shared__ __align__(16) uint32_t tiles[4][128];
  const int t = threadIdx.x, steps = 12;
  for (int i = 0; i < 3; ++i) {
    copy4(address(&tiles[i][t]), in + i * 128 + t);
    copyCommit();
  }
  uint32_t sum = 0;
#pragma unroll 1
  for (int i = 0; i < steps; ++i) {
    copyWait<2>();
    __syncthreads();
    sum += tiles[i % 4][t ^ 33] * (i + 1);
    if (i + 3 < steps)
      copy4(address(&tiles[(i + 3) % 4][t]), in + (i + 3) * 128 + t);
    copyCommit();
  }
  out[t] = sum;
}

// The rest of a tile is filled with zeros.
KERNEL(copy_tail, 128) {
  __shared__ __align__(16) uint32_t tile[128];
  const int t = threadIdx.x, n = 100;
  copy4(address(tile + t), in + (t < n ? t : 0), t < n ? 4 : 0);
  copyCommit();
  copyWait<0>();
  __syncthreads();
  out[t] = tile[127 - t] + tile[t];
}

// cp.async that arrive at an mbarrier when they are done.
KERNEL(copy_mbarrier, 128) {
  __shared__ __align__(16) uint32_t tiles[2][128];
  __shared__ uint64_t full[2];
  const int t = threadIdx.x;
  if (t == 0) {
    init(address(&full[0]), 128);
    init(address(&full[1]), 128);
  }
  __syncthreads();
  for (int i = 0; i < 2; ++i) {
    copy4(address(&tiles[i][t]), in + i * 128 + t);
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(address(&full[i]))
                 : "memory");
  }
  uint32_t sum = 0;
  for (int i = 0; i < 2; ++i) {
    waitFor(address(&full[i]), 0);
    sum += tiles[i][127 - t] * (i + 2);
  }
  out[t] = sum;
}

// Warp 0 fills buffers, three warps empty them; full and empty mbarriers, two stages.
KERNEL(mbarrier_ring, 128) {
  __shared__ uint32_t buffers[2][96];
  __shared__ uint64_t full[2], empty[2];
  const int t = threadIdx.x, steps = 6;
  if (t == 0)
    for (int i = 0; i < 2; ++i) {
      init(address(&full[i]), 32);
      init(address(&empty[i]), 96);
    }
  __syncthreads();
  if (t < 32) {
#pragma unroll
    for (int i = 0; i < steps; ++i) {
      if (i >= 2)
        waitFor(address(&empty[i % 2]), (i / 2 + 1) % 2);
      for (int k = t; k < 96; k += 32)
        buffers[i % 2][k] = in[i * 96 + k] + 11;
      arrive(address(&full[i % 2]));
    }
  } else {
#pragma unroll
    for (int i = 0; i < steps; ++i) {
      waitFor(address(&full[i % 2]), i / 2 % 2);
      out[i * 96 + t - 32] = buffers[i % 2][127 - t];
      arrive(address(&empty[i % 2]));
    }
  }
}

// The same in a loop, one lane of each warp arriving for it.
KERNEL(mbarrier_elected, 128) {
  __shared__ uint32_t buffers[3][32];
  __shared__ uint64_t full[3], empty[3];
  const int t = threadIdx.x, warp = t / 32, lane = t % 32, steps = 9;
  if (t == 0)
    for (int i = 0; i < 3; ++i) {
      init(address(&full[i]), 1);
      init(address(&empty[i]), 3);
    }
  __syncthreads();
  uint32_t sum = 0;
#pragma unroll 1
  for (int i = 0; i < steps; ++i) {
    const int stage = i % 3, round = i / 3;
    if (warp == 0) {
      waitFor(address(&empty[stage]), (round + 1) % 2);
      buffers[stage][lane] = in[i * 32 + lane];
      __syncwarp();
      if (lane == 0)
        arrive(address(&full[stage]));
    } else {
      waitFor(address(&full[stage]), round % 2);
      sum += buffers[stage][31 - lane] * warp;
      __syncwarp();
      if (lane == 0)
        arrive(address(&empty[stage]));
    }
  }
  out[t] = sum;
}

// Arrival and wait as two halves, with the state that the arrival gave.
KERNEL(mbarrier_state, 128) {
  __shared__ uint32_t values[128];
  __shared__ uint64_t meet;
  const int t = threadIdx.x;
  if (t == 0)
    init(address(&meet), 128);
  __syncthreads();
  uint32_t value = in[t];
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    values[t] = value;
    uint64_t state;
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1];"
                 : "=l"(state)
                 : "r"(address(&meet))
                 : "memory");
    asm volatile("{\n.reg .pred done;\nAGAIN_%=:\n"
                 "mbarrier.try_wait.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra AGAIN_%=;\n}" ::"r"(address(&meet)),
                 "l"(state)
                 : "memory");
    value += values[(t + 41) % 128];
    __syncthreads();
  }
  out[t] = value;
}

// One bulk copy in, one out.
KERNEL(bulk_once, 64) {
  __shared__ __align__(128) uint32_t tile[256];
  __shared__ uint64_t full;
  const int t = threadIdx.x, base = blockIdx.x * 256;
  if (t == 0) {
    init(address(&full), 1);
    fenceInit();
  }
  __syncthreads();
  if (t == 0) {
    arriveExpect(address(&full), 1024);
    bulkLoad(address(tile), in + base, 1024, address(&full));
  }
  waitFor(address(&full), 0);
  uint32_t values[4];
  for (int i = 0; i < 4; ++i)
    values[i] = tile[255 - (i * 64 + t)];
  __syncthreads();
  for (int i = 0; i < 4; ++i)
    tile[i * 64 + t] = values[i] * 7;
  fenceAsync();
  __syncthreads();
  if (t == 0) {
    bulkStore(out + base, address(tile), 1024);
    bulkCommit();
    bulkWait<0>();
  }
}

// A producer warp and three that consume, three stages of bulk copies.
KERNEL(bulk_ring, 128) {
  __shared__ __align__(128) uint32_t buffers[3][96];
  __shared__ uint64_t full[3], empty[3];
  const int t = threadIdx.x, steps = 8;
  if (t == 0) {
    for (int i = 0; i < 3; ++i) {
      init(address(&full[i]), 1);
      init(address(&empty[i]), 96);
    }
    fenceInit();
  }
  __syncthreads();
  if (t < 32) {
    if (t == 0)
#pragma unroll 1
      for (int i = 0; i < steps; ++i) {
        waitFor(address(&empty[i % 3]), (i / 3 + 1) % 2);
        arriveExpect(address(&full[i % 3]), 384);
        bulkLoad(address(buffers[i % 3]), in + i * 96, 384, address(&full[i % 3]));
      }
  } else {
    uint32_t sum = 0;
#pragma unroll 1
    for (int i = 0; i < steps; ++i) {
      waitFor(address(&full[i % 3]), i / 3 % 2);
      sum = sum * 5 + buffers[i % 3][127 - t];
      fenceAsync();
      arrive(address(&empty[i % 3]));
    }
    out[t - 32] = sum;
  }
}

// Stores in flight from two buffers in turn.
KERNEL(bulk_stores, 64) {
  __shared__ __align__(128) uint32_t buffers[2][64];
  const int t = threadIdx.x;
#pragma unroll
  for (int i = 0; i < 5; ++i) {
    if (i >= 2) {
      if (t == 0)
        bulkWaitRead<1>();
      __syncthreads();
    }
    buffers[i % 2][t] = in[i * 64 + t] ^ i;
    fenceAsync();
    __syncthreads();
    if (t == 0) {
      bulkStore(out + i * 64, address(buffers[i % 2]), 256);
      bulkCommit();
    }
  }
  if (t == 0)
    bulkWait<0>();
}

// Each block adds its tile to the same memory.
KERNEL(bulk_reduce, 64) {
  __shared__ __align__(128) uint32_t tile[64];
  const int t = threadIdx.x;
  tile[t] = in[blockIdx.x * 64 + t];
  fenceAsync();
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(
                     out),
                 "r"(address(tile)), "r"(256)
                 : "memory");
    bulkCommit();
    bulkWait<0>();
  }
}

// What a bulk copy stored is read back by another one.
KERNEL(bulk_round_trip, 64) {
  __shared__ __align__(128) uint32_t first[64], second[64];
  __shared__ uint64_t full;
  const int t = threadIdx.x;
  first[t] = in[t] * 13;
  if (t == 0) {
    init(address(&full), 1);
    fenceInit();
  }
  fenceAsync();
  __syncthreads();
  if (t == 0) {
    bulkStore(scratch, address(first), 256);
    bulkCommit();
    bulkWait<0>();
    arriveExpect(address(&full), 256);
    bulkLoad(address(second), scratch, 256, address(&full));
  }
  waitFor(address(&full), 0);
  out[t] = second[63 - t];
}

// Each warp copies its own row in and out; no barrier of the block.
KERNEL(bulk_warps, 128) {
  __shared__ __align__(128) uint32_t rows[4][128];
  __shared__ uint64_t full[4];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane == 0) {
    init(address(&full[warp]), 1);
    fenceInit();
  }
  __syncwarp();
  if (lane == 0) {
    arriveExpect(address(&full[warp]), 512);
    bulkLoad(address(rows[warp]), in + warp * 128, 512, address(&full[warp]));
  }
  waitFor(address(&full[warp]), 0);
  uint32_t values[4];
  for (int i = 0; i < 4; ++i)
    values[i] = rows[warp][127 - i * 32 - lane];
  __syncwarp();
  for (int i = 0; i < 4; ++i)
    rows[warp][i * 32 + lane] = values[i] + warp;
  fenceAsync();
  __syncwarp();
  if (lane == 0) {
    bulkStore(out + warp * 128, address(rows[warp]), 512);
    bulkCommit();
    bulkWaitRead<0>();
  }
}
