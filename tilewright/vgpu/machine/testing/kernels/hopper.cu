// A matrix product as Hopper does it: tensor maps, an mbarrier for each stage, wgmma.
// hopper.ptx is what nvcc 13.0 makes of it: nvcc -arch=sm_90a -ptx hopper.cu
#include <cuda_fp16.h>
#include <stdint.h>

struct alignas(64) TensorMap {
  char bytes[128];
};

static __device__ uint32_t sharedAddress(const void *pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}
static __device__ void loadTile(uint32_t to, const TensorMap &map, int x, int y, uint32_t barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(&map), "r"(x), "r"(y), "r"(barrier)
               : "memory");
}
static __device__ void waitFor(uint32_t barrier, uint32_t parity) {
  asm volatile("{\n.reg .pred done;\n"
               "AGAIN_%=:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@done bra OVER_%=;\n"
               "bra AGAIN_%=;\n"
               "OVER_%=:\n}" ::"r"(barrier), "r"(parity)
               : "memory");
}
// Rows of 128 bytes with their swizzle; 1024 bytes from eight rows to the next.
static __device__ uint64_t descriptor(uint32_t address) {
  return 0x4000004000000000ull | (address >> 4);
}
static __device__ void multiply(float (&sums)[64], uint64_t a, uint64_t b) {
  asm volatile(
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, 1, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, adds, 1, 1, 0, 0;\n}"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]),
        "+f"(sums[4]), "+f"(sums[5]), "+f"(sums[6]), "+f"(sums[7]),
        "+f"(sums[8]), "+f"(sums[9]), "+f"(sums[10]), "+f"(sums[11]),
        "+f"(sums[12]), "+f"(sums[13]), "+f"(sums[14]), "+f"(sums[15]),
        "+f"(sums[16]), "+f"(sums[17]), "+f"(sums[18]), "+f"(sums[19]),
        "+f"(sums[20]), "+f"(sums[21]), "+f"(sums[22]), "+f"(sums[23]),
        "+f"(sums[24]), "+f"(sums[25]), "+f"(sums[26]), "+f"(sums[27]),
        "+f"(sums[28]), "+f"(sums[29]), "+f"(sums[30]), "+f"(sums[31]),
        "+f"(sums[32]), "+f"(sums[33]), "+f"(sums[34]), "+f"(sums[35]),
        "+f"(sums[36]), "+f"(sums[37]), "+f"(sums[38]), "+f"(sums[39]),
        "+f"(sums[40]), "+f"(sums[41]), "+f"(sums[42]), "+f"(sums[43]),
        "+f"(sums[44]), "+f"(sums[45]), "+f"(sums[46]), "+f"(sums[47]),
        "+f"(sums[48]), "+f"(sums[49]), "+f"(sums[50]), "+f"(sums[51]),
        "+f"(sums[52]), "+f"(sums[53]), "+f"(sums[54]), "+f"(sums[55]),
        "+f"(sums[56]), "+f"(sums[57]), "+f"(sums[58]), "+f"(sums[59]),
        "+f"(sums[60]), "+f"(sums[61]), "+f"(sums[62]), "+f"(sums[63])
      : "l"(a), "l"(b));
}

// C (m x n, f32) = A (m x k) * B (n x k) transposed. A block computes 64 x 128; the
// boxes of the maps are 64 x 64 and 64 x 128 elements.
extern "C" __global__ void __launch_bounds__(128)
    gemm(const __grid_constant__ TensorMap mapA, const __grid_constant__ TensorMap mapB, float *c,
         int n, int k) {
  constexpr int stages = 2, bytesA = 64 * 64 * 2, bytesB = 128 * 64 * 2;
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ uint64_t full[stages];
  const int row = blockIdx.y * 64, column = blockIdx.x * 128, steps = k / 64;
  const uint32_t tiles = sharedAddress(memory);
  auto load = [&](int step) {
    const uint32_t barrier = sharedAddress(&full[step % stages]);
    const uint32_t to = tiles + step % stages * (bytesA + bytesB);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                 "r"(bytesA + bytesB)
                 : "memory");
    loadTile(to, mapA, step * 64, row, barrier);
    loadTile(to + bytesA, mapB, step * 64, column, barrier);
  };
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(sharedAddress(&full[i])));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    load(0);
  }
  __syncthreads();
  float sums[64] = {};
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    if (threadIdx.x == 0 && step + 1 < steps)
      load(step + 1);
    waitFor(sharedAddress(&full[step % stages]), step / stages & 1);
    const uint32_t from = tiles + step % stages * (bytesA + bytesB);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int i = 0; i < 4; ++i)
      multiply(sums, descriptor(from + 32 * i), descriptor(from + bytesA + 32 * i));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
  }
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float *out = c + (row + warp * 16 + lane / 4) * n + column + lane % 4 * 2;
  for (int i = 0; i < 64; i += 2)
    *reinterpret_cast<float2 *>(out + (i / 2 % 2) * 8 * n + i / 4 * 8) =
        make_float2(sums[i], sums[i + 1]);
}
