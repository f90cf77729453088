// Kernels whose threads share memory: barriers, warps, flags, locks.
// threads.ptx is what nvcc 13.0 makes of it: nvcc -arch=sm_90a -ptx threads.cu
#include <stdint.h>

#define KERNEL(name, threads) \
  extern "C" __global__ void __launch_bounds__(threads) \
      name(const uint32_t *__restrict__ in, uint32_t *out, uint32_t *scratch)

// out[tile of 128] = in, reversed, then each neighbour's sum, in two rounds.
KERNEL(tile_reverse, 128) {
  __shared__ uint32_t tile[128];
  const int t = threadIdx.x, base = blockIdx.x * 128;
  tile[t] = in[base + t];
  __syncthreads();
  const uint32_t reversed = tile[127 - t];
  __syncthreads();
  tile[t] = reversed;
  __syncthreads();
  out[base + t] = tile[t] + tile[(t + 1) % 128];
}

KERNEL(block_reduce, 128) {
  __shared__ uint32_t sums[128];
  const int t = threadIdx.x;
  sums[t] = in[blockIdx.x * 128 + t];
  __syncthreads();
#pragma unroll
  for (int step = 64; step > 0; step /= 2) {
    if (t < step)
      sums[t] += sums[t + step];
    __syncthreads();
  }
  if (t == 0)
    out[blockIdx.x] = sums[0];
}

// A tree in shared memory for each warp.
KERNEL(warp_reduce, 128) {
  __shared__ uint32_t sums[4][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  sums[warp][lane] = in[blockIdx.x * 128 + threadIdx.x];
  __syncwarp();
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    if (lane < step)
      sums[warp][lane] += sums[warp][lane + step];
    __syncwarp();
  }
  out[blockIdx.x * 128 + threadIdx.x] = sums[warp][0] + lane;
}

// 32 x 32 tiles of a 64 x 64 matrix, one block for all four.
KERNEL(transpose, 256) {
  __shared__ uint32_t tile[32][33];
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = i / 2 * 32, column = i % 2 * 32;
    for (int k = y; k < 32; k += 8)
      tile[k][x] = in[(row + k) * 64 + column + x];
    __syncthreads();
    for (int k = y; k < 32; k += 8)
      out[(column + k) * 64 + row + x] = tile[x][k];
    __syncthreads();
  }
}

// C = A * B of 32 x 32, A = in, B = in + 1024.
KERNEL(matmul, 256) {
  __shared__ uint32_t a[16][16], b[16][16];
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  const int row = blockIdx.x / 2 * 16 + y, column = blockIdx.x % 2 * 16 + x;
  uint32_t sum = 0;
#pragma unroll
  for (int k = 0; k < 32; k += 16) {
    a[y][x] = in[row * 32 + k + x];
    b[y][x] = in[1024 + (k + y) * 32 + column];
    __syncthreads();
    for (int i = 0; i < 16; ++i)
      sum += a[y][i] * b[i][x];
    __syncthreads();
  }
  out[row * 32 + column] = sum;
}

// Inclusive sums by doubling, two buffers.
KERNEL(scan, 128) {
  __shared__ uint32_t sums[2][128];
  const int t = threadIdx.x, base = blockIdx.x * 128;
  int from = 0;
  sums[0][t] = in[base + t];
  __syncthreads();
#pragma unroll
  for (int step = 1; step < 128; step *= 2) {
    sums[1 - from][t] = sums[from][t] + (t >= step ? sums[from][t - step] : 0);
    from = 1 - from;
    __syncthreads();
  }
  out[base + t] = sums[from][t];
}

KERNEL(histogram, 128) {
  __shared__ uint32_t counts[64];
  const int t = threadIdx.x;
  if (t < 64)
    counts[t] = 0;
  __syncthreads();
  for (int i = 0; i < 4; ++i)
    atomicAdd(&counts[in[blockIdx.x * 512 + i * 128 + t] % 64], 1);
  __syncthreads();
  if (t < 64)
    atomicAdd(&out[t], counts[t]);
}

// Eight steps of a ring of neighbours in shared memory.
KERNEL(stencil, 128) {
  __shared__ uint32_t ring[2][128];
  const int t = threadIdx.x;
  ring[0][t] = in[t];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    ring[(i + 1) % 2][t] = ring[i % 2][(t + 127) % 128] + 3 * ring[i % 2][(t + 1) % 128];
    __syncthreads();
  }
  out[t] = ring[0][t];
}

KERNEL(bitonic_sort, 128) {
  __shared__ uint32_t keys[128];
  const int t = threadIdx.x;
  keys[t] = in[t];
  __syncthreads();
#pragma unroll 1
  for (int size = 2; size <= 128; size *= 2)
#pragma unroll 1
    for (int step = size / 2; step > 0; step /= 2) {
      const int other = t ^ step;
      const uint32_t a = keys[t], b = keys[other];
      const bool ascends = (t & size) == 0;
      const uint32_t kept = (t < other) == ascends ? min(a, b) : max(a, b);
      __syncthreads();
      keys[t] = kept;
      __syncthreads();
    }
  out[t] = keys[t];
}

static __device__ void barSync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
static __device__ void barArrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Warp 0 fills two buffers in turn, warps 1 to 3 empty them; barriers 1, 2: full, 3, 4: empty.
KERNEL(named_barriers, 128) {
  __shared__ uint32_t buffers[2][96];
  const int t = threadIdx.x;
  if (t < 32) {
#pragma unroll
    for (int i = 0; i < 6; ++i) {
      if (i >= 2)
        barSync(3 + i % 2, 128);
      for (int k = t; k < 96; k += 32)
        buffers[i % 2][k] = in[i * 96 + k] * 5;
      barArrive(1 + i % 2, 128);
    }
  } else {
#pragma unroll
    for (int i = 0; i < 6; ++i) {
      barSync(1 + i % 2, 128);
      out[i * 96 + t - 32] = buffers[i % 2][127 - t];
      if (i < 4)
        barArrive(3 + i % 2, 128);
    }
  }
}

// Two halves of the block with a barrier each, then all.
KERNEL(sub_barriers, 128) {
  __shared__ uint32_t values[128];
  const int t = threadIdx.x, half = t / 64, base = half * 64, own = t % 64;
  values[t] = in[t];
  barSync(1 + half, 64);
  const uint32_t first = values[base + 63 - own];
  barSync(1 + half, 64);
  values[t] = first * 2;
  __syncthreads();
  out[t] = values[127 - t] + values[(t + 64) % 128];
}

KERNEL(barrier_votes, 128) {
  __shared__ uint32_t values[128];
  const int t = threadIdx.x;
  values[t] = in[t] % 100;
  const int odd = __syncthreads_count(values[t] & 1);
  const uint32_t other = values[t ^ 64];
  const int any = __syncthreads_or(other > 98);
  values[t] = other + odd;
  const int all = __syncthreads_and(other < 100);
  out[t] = values[127 - t] + any * 1000 + all * 10000;
}

// Block 0 writes, block 1 reads when the flag says so. scratch[0] is the flag.
KERNEL(flag_fences, 64) {
  const int t = threadIdx.x;
  if (blockIdx.x == 0) {
    scratch[64 + t] = in[t] * 3;
    __syncthreads();
    if (t == 0) {
      __threadfence();
      asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(scratch) : "memory");
    }
  } else {
    if (t == 0) {
      uint32_t seen;
      do
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(scratch) : "memory");
      while (seen == 0);
      __threadfence();
    }
    __syncthreads();
    out[t] = scratch[64 + 63 - t];
  }
}

KERNEL(flag_release, 64) {
  const int t = threadIdx.x;
  if (blockIdx.x == 0) {
    scratch[64 + t] = in[t] + 9;
    __syncthreads();
    if (t == 0)
      asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(scratch) : "memory");
  } else {
    if (t == 0) {
      uint32_t seen;
      do
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(scratch) : "memory");
      while (seen == 0);
    }
    __syncthreads();
    out[t] = scratch[64 + 63 - t];
  }
}

// Every block adds up its part and publishes the sum, then its sum with all before it.
KERNEL(lookback_scan, 64) {
  __shared__ uint32_t sums[64];
  __shared__ uint32_t before;
  const int t = threadIdx.x, b = blockIdx.x;
  sums[t] = in[b * 64 + t];
  __syncthreads();
#pragma unroll 1
  for (int step = 1; step < 64; step *= 2) {
    const uint32_t add = t >= step ? sums[t - step] : 0;
    __syncthreads();
    sums[t] += add;
    __syncthreads();
  }
  uint32_t *flags = scratch, *totals = scratch + 64, *prefixes = scratch + 128;
  if (t == 0) {
    totals[b] = sums[63];
    __threadfence();
    asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(flags + b) : "memory");
    __nanosleep(20); // so that others see this, too
    uint32_t sum = 0;
    for (int i = b - 1; i >= 0;) {
      uint32_t seen;
      do
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flags + i) : "memory");
      while (seen == 0);
      __threadfence();
      if (seen == 2) {
        sum += prefixes[i];
        break;
      }
      sum += totals[i];
      --i;
    }
    prefixes[b] = sum + sums[63];
    __threadfence();
    asm volatile("st.relaxed.gpu.global.u32 [%0], 2;" ::"l"(flags + b) : "memory");
    before = sum;
  }
  __syncthreads();
  out[b * 64 + t] = before + sums[t];
}

// The block that comes last adds up what all have written.
KERNEL(last_block, 64) {
  __shared__ uint32_t sums[64];
  __shared__ bool isLast;
  const int t = threadIdx.x, b = blockIdx.x;
  sums[t] = in[b * 64 + t];
  __syncthreads();
#pragma unroll
  for (int step = 32; step > 0; step /= 2) {
    if (t < step)
      sums[t] += sums[t + step];
    __syncthreads();
  }
  if (t == 0) {
    scratch[64 + b] = sums[0];
    __threadfence();
    isLast = atomicAdd(scratch, 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (isLast) {
    if (t < gridDim.x)
      out[t] = scratch[64 + t] * 2;
  }
}

// A barrier of the whole grid, three times. All blocks are resident.
KERNEL(grid_barrier, 64) {
  const int t = blockIdx.x * 64 + threadIdx.x, n = gridDim.x * 64;
  uint32_t *from = scratch + 64, *to = scratch + 64 + n;
  from[t] = in[t];
#pragma unroll 1
  for (int i = 1; i <= 3; ++i) {
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(scratch, 1);
      uint32_t seen;
      do
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(scratch) : "memory");
      while (seen < i * gridDim.x);
      __threadfence();
    }
    __syncthreads();
    to[t] = from[(t + 1) % n] + from[(t + 97) % n];
    uint32_t *swap = from;
    from = to;
    to = swap;
  }
  out[t] = from[t];
}

// Threads of different blocks change the same words under a lock.
KERNEL(spin_lock, 32) {
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4; ++i) {
      uint32_t old;
      do
        asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;"
                     : "=r"(old)
                     : "l"(scratch)
                     : "memory");
      while (old != 0);
      out[0] += in[blockIdx.x];
      out[1] += 1;
      asm volatile("st.release.gpu.global.u32 [%0], 0;" ::"l"(scratch) : "memory");
      __nanosleep(20); // so that others get it
    }
  }
}

// Warps hand a buffer to each other by a flag in shared memory.
KERNEL(shared_flags, 128) {
  __shared__ uint32_t buffer[32];
  __shared__ uint32_t turn;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0)
    turn = 0;
  if (warp == 0)
    buffer[lane] = in[lane];
  __syncthreads();
  if (lane == 0) {
    uint32_t seen;
    do
      asm volatile("ld.acquire.cta.shared.u32 %0, [%1];"
                   : "=r"(seen)
                   : "r"((uint32_t)__cvta_generic_to_shared(&turn))
                   : "memory");
    while (seen != warp);
  }
  __syncwarp();
  const uint32_t value = buffer[31 - lane] * 3 + warp;
  __syncwarp();
  buffer[lane] = value;
  __syncwarp();
  if (lane == 0)
    asm volatile("st.release.cta.shared.u32 [%0], %1;" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(&turn)),
                 "r"(warp + 1)
                 : "memory");
  __syncthreads();
  if (warp == 0)
    out[lane] = buffer[lane];
}
