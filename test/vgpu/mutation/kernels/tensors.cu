// Kernels with tensor maps and wgmma.
// tensors.ptx is what nvcc 13.0 makes of it: nvcc -arch=sm_90a -ptx tensors.cu
#include "async.h"

struct alignas(64) Map {
  char bytes[128];
};
#define TENSOR_KERNEL(name, threads) \
  extern "C" __global__ void __launch_bounds__(threads) \
      name(const __grid_constant__ Map mapA, const __grid_constant__ Map mapB, \
           const uint32_t *__restrict__ in, uint32_t *out, uint32_t *scratch)

static __device__ void loadTile(uint32_t to, const void *map, int x, int y, uint32_t barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
               "l"(map), "r"(x), "r"(y), "r"(barrier)
               : "memory");
}
static __device__ void storeTile(const void *map, int x, int y, uint32_t from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
               ::"l"(map), "r"(x), "r"(y), "r"(from)
               : "memory");
}

// 64 x 64 numbers in tiles of 32 x 32.
TENSOR_KERNEL(tma_transpose, 128) {
  __shared__ __align__(128) uint32_t from[32 * 32], to[32 * 32];
  __shared__ uint64_t full;
  const int t = threadIdx.x, x = blockIdx.x % 2 * 32, y = blockIdx.x / 2 * 32;
  if (t == 0) {
    init(address(&full), 1);
    fenceInit();
  }
  __syncthreads();
  if (t == 0) {
    arriveExpect(address(&full), 4096);
    loadTile(address(from), &mapA, x, y, address(&full));
  }
  waitFor(address(&full), 0);
  for (int i = t; i < 1024; i += 128)
    to[i] = from[i % 32 * 32 + i / 32];
  fenceAsync();
  __syncthreads();
  if (t == 0) {
    storeTile(&mapB, y, x, address(to));
    bulkCommit();
    bulkWaitRead<0>();
  }
}

// One warp loads tiles, three add them up; two stages.
TENSOR_KERNEL(tma_ring, 128) {
  __shared__ __align__(128) uint32_t tiles[2][32 * 32];
  __shared__ uint64_t full[2], empty[2];
  const int t = threadIdx.x, steps = 8;
  if (t == 0) {
    for (int i = 0; i < 2; ++i) {
      init(address(&full[i]), 1);
      init(address(&empty[i]), 3);
    }
    fenceInit();
  }
  __syncthreads();
  if (t < 32) {
    if (t == 0)
#pragma unroll 1
      for (int i = 0; i < steps; ++i) {
        waitFor(address(&empty[i % 2]), (i / 2 + 1) % 2);
        arriveExpect(address(&full[i % 2]), 4096);
        loadTile(address(tiles[i % 2]), &mapA, i % 2 * 32, i / 2 % 2 * 32, address(&full[i % 2]));
      }
  } else {
    uint32_t sum = 0;
#pragma unroll 1
    for (int i = 0; i < steps; ++i) {
      waitFor(address(&full[i % 2]), i / 2 % 2);
      for (int k = t - 32; k < 1024; k += 96)
        sum = sum * 3 + tiles[i % 2][1023 - k];
      fenceAsync();
      __syncwarp();
      if (t % 32 == 0)
        arrive(address(&empty[i % 2]));
    }
    out[t - 32] = sum;
  }
}

// Tiles are added to global memory.
TENSOR_KERNEL(tma_reduce, 128) {
  __shared__ __align__(128) uint32_t tile[32 * 32];
  const int t = threadIdx.x;
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    for (int i = t; i < 1024; i += 128)
      tile[i] = in[i] + k;
    fenceAsync();
    __syncthreads();
    if (t == 0) {
      asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, "
                   "%2}], [%3];" ::"l"(&mapB),
                   "r"((int)blockIdx.x % 2 * 32), "r"(0), "r"(address(tile))
                   : "memory");
      bulkCommit();
      bulkWaitRead<0>();
    }
    __syncthreads();
  }
}

// The map is changed on the device before it is used.
TENSOR_KERNEL(tma_device_map, 32) {
  __shared__ __align__(128) uint32_t tile[32 * 32];
  __shared__ __align__(128) Map changed;
  __shared__ uint64_t full;
  const int t = threadIdx.x;
  Map *target = reinterpret_cast<Map *>(scratch);
  reinterpret_cast<uint32_t *>(&changed)[t] = reinterpret_cast<const uint32_t *>(&mapA)[t];
  __syncwarp();
  if (t == 0)
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(
                     address(&changed)),
                 "l"(in + 1024)
                 : "memory");
  __syncwarp();
  asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync"
               ".aligned [%0], [%1], 128;" ::"l"(target),
               "r"(address(&changed))
               : "memory");
  __syncwarp();
  if (t == 0) {
    init(address(&full), 1);
    fenceInit();
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(target) : "memory");
    arriveExpect(address(&full), 4096);
    loadTile(address(tile), target, 0, 0, address(&full));
  }
  __syncwarp();
  waitFor(address(&full), 0);
  for (int i = t; i < 1024; i += 32)
    out[i] = tile[1023 - i];
}

// wgmma: 64 x 8 += 64 x 64 (halves) * (8 x 64) transposed. Rows of 128 bytes with swizzle.
static __device__ uint64_t descriptor(uint32_t at) {
  return 0x4000004000000000ull | ((at & 0x3ffff) >> 4);
}
static __device__ void multiply(float (&sums)[4], uint64_t a, uint64_t b) {
  asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, 1, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, adds, "
               "1, 1, 0, 0;\n}"
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
               : "l"(a), "l"(b)
               : "memory");
}
// The sums are operands, so that nothing of them is written after the fence.
static __device__ void matrixFence(float (&sums)[4]) {
  asm volatile("wgmma.fence.sync.aligned;"
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
               :
               : "memory");
}
static __device__ void matrixCommit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int left> static __device__ void matrixWait(float (&sums)[4]) {
  asm volatile("wgmma.wait_group.sync.aligned %4;"
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
               : "n"(left)
               : "memory");
}
static __device__ void storeSums(uint32_t *out, const float (&sums)[4], int t) {
  const int warp = t / 32, lane = t % 32;
  float *to = reinterpret_cast<float *>(out) + (warp * 16 + lane / 4) * 8 + lane % 4 * 2;
  to[0] = sums[0];
  to[1] = sums[1];
  to[64] = sums[2];
  to[65] = sums[3];
}
constexpr int steps = 6, bytesA = 64 * 128, bytesB = 8 * 128, bytesBoth = bytesA + bytesB;

// One buffer, everything in turn.
TENSOR_KERNEL(wgmma_single, 128) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ uint64_t full;
  const int t = threadIdx.x;
  const uint32_t a = address(memory), b = a + bytesA;
  if (t == 0) {
    init(address(&full), 1);
    fenceInit();
  }
  __syncthreads();
  float sums[4] = {};
#pragma unroll 1
  for (int i = 0; i < steps; ++i) {
    if (t == 0) {
      arriveExpect(address(&full), bytesBoth);
      loadTile(a, &mapA, i * 64, 0, address(&full));
      loadTile(b, &mapB, i * 64, 0, address(&full));
    }
    waitFor(address(&full), i % 2);
    matrixFence(sums);
    for (int k = 0; k < 4; ++k)
      multiply(sums, descriptor(a + 32 * k), descriptor(b + 32 * k));
    matrixCommit();
    matrixWait<0>(sums);
    __syncthreads();
  }
  storeSums(out, sums, t);
}

// The load of the next step runs beside the product of this one.
TENSOR_KERNEL(wgmma_double, 128) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ uint64_t full[2];
  const int t = threadIdx.x;
  const uint32_t tiles = address(memory);
  auto load = [&](int i) {
    const uint32_t to = tiles + i % 2 * bytesBoth;
    arriveExpect(address(&full[i % 2]), bytesBoth);
    loadTile(to, &mapA, i * 64, 0, address(&full[i % 2]));
    loadTile(to + bytesA, &mapB, i * 64, 0, address(&full[i % 2]));
  };
  if (t == 0) {
    init(address(&full[0]), 1);
    init(address(&full[1]), 1);
    fenceInit();
    load(0);
  }
  __syncthreads();
  float sums[4] = {};
#pragma unroll 1
  for (int i = 0; i < steps; ++i) {
    if (t == 0 && i + 1 < steps)
      load(i + 1);
    waitFor(address(&full[i % 2]), i / 2 % 2);
    const uint32_t from = tiles + i % 2 * bytesBoth;
    matrixFence(sums);
    for (int k = 0; k < 4; ++k)
      multiply(sums, descriptor(from + 32 * k), descriptor(from + bytesA + 32 * k));
    matrixCommit();
    matrixWait<0>(sums);
    __syncthreads();
  }
  storeSums(out, sums, t);
}

// A warp that loads, four that multiply; one product stays in flight.
TENSOR_KERNEL(wgmma_specialised, 160) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ uint64_t full[3], empty[3];
  const int t = threadIdx.x;
  const uint32_t tiles = address(memory);
  if (t == 0) {
    for (int i = 0; i < 3; ++i) {
      init(address(&full[i]), 1);
      init(address(&empty[i]), 128);
    }
    fenceInit();
  }
  __syncthreads();
  if (t >= 128) {
    if (t == 128)
#pragma unroll 1
      for (int i = 0; i < steps; ++i) {
        waitFor(address(&empty[i % 3]), (i / 3 + 1) % 2);
        arriveExpect(address(&full[i % 3]), bytesBoth);
        const uint32_t to = tiles + i % 3 * bytesBoth;
        loadTile(to, &mapA, i * 64, 0, address(&full[i % 3]));
        loadTile(to + bytesA, &mapB, i * 64, 0, address(&full[i % 3]));
      }
  } else {
    float sums[4] = {};
#pragma unroll 1
    for (int i = 0; i < steps; ++i) {
      waitFor(address(&full[i % 3]), i / 3 % 2);
      const uint32_t from = tiles + i % 3 * bytesBoth;
      matrixFence(sums);
      for (int k = 0; k < 4; ++k)
        multiply(sums, descriptor(from + 32 * k), descriptor(from + bytesA + 32 * k));
      matrixCommit();
      matrixWait<1>(sums);
      if (i > 0)
        arrive(address(&empty[(i - 1) % 3]));
    }
    matrixWait<0>(sums);
    storeSums(out, sums, t);
  }
}

// Operands that threads write: 64 x 16 and 8 x 16 halves as core matrices of 8 x 8.
TENSOR_KERNEL(wgmma_written, 128) {
  __shared__ __align__(128) uint32_t a[2][64 * 8], b[2][8 * 8];
  const int t = threadIdx.x;
  float sums[4] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    // A word holds two halves: row r, columns 2c and 2c + 1.
    for (int w = t; w < 64 * 8; w += 128) {
      const int r = w / 8, c = w % 8;
      a[i % 2][((r / 8 * 2 + c / 4) * 8 + r % 8) * 4 + c % 4] = in[r * 192 + i * 8 + c];
    }
    if (t < 64) {
      const int r = t / 8, c = t % 8;
      b[i % 2][((r / 8 * 2 + c / 4) * 8 + r % 8) * 4 + c % 4] =
          in[64 * 192 + r * 192 + i * 8 + c];
    }
    fenceAsync();
    __syncthreads();
    const uint64_t plain = uint64_t(128 / 16) << 16 | uint64_t(256 / 16) << 32;
    matrixFence(sums);
    multiply(sums, plain | (address(a[i % 2]) & 0x3ffff) >> 4,
             plain | (address(b[i % 2]) & 0x3ffff) >> 4);
    matrixCommit();
    matrixWait<0>(sums);
    __syncthreads();
  }
  storeSums(out, sums, t);
}

// A in registers.
TENSOR_KERNEL(wgmma_registers, 128) {
  __shared__ __align__(128) uint32_t b[8 * 8];
  const int t = threadIdx.x, lane = t % 32;
  const int row = t / 32 * 16 + lane / 4, column = lane % 4;
  float sums[4] = {};
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    if (t < 64) {
      const int r = t / 8, c = t % 8;
      b[((r / 8 * 2 + c / 4) * 8 + r % 8) * 4 + c % 4] = in[64 * 192 + r * 192 + i * 8 + c];
    }
    uint32_t a0 = in[row * 192 + i * 8 + column], a1 = in[(row + 8) * 192 + i * 8 + column],
             a2 = in[row * 192 + i * 8 + column + 4],
             a3 = in[(row + 8) * 192 + i * 8 + column + 4];
    asm volatile("" : "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3));
    fenceAsync();
    __syncthreads();
    matrixFence(sums);
    asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, 1, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, "
                 "%7}, %8, adds, 1, 1, 0;\n}"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3),
                   "l"(uint64_t(128 / 16) << 16 | uint64_t(256 / 16) << 32 |
                       (address(b) & 0x3ffff) >> 4)
                 : "memory");
    matrixCommit();
    matrixWait<0>(sums);
    __syncthreads();
  }
  storeSums(out, sums, t);
}
