// Everyday CUDA: shared memory, divergence, loops, switches, constants, local arrays.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

__constant__ float weights[16] = {1.0f, 2.0f, -0.5f, 3.25f};
__device__ int counters[4] = {1, 2, 3};
__device__ int *counterAddress = counters + 2;
__managed__ double total;

extern "C" __global__ void saxpy(int n, float a, const float *__restrict__ x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i] * weights[i & 15];
}

extern "C" __global__ __launch_bounds__(256, 2) void blockSum(const float4 *in, float *out, int n) {
  __shared__ float part[32];
  extern __shared__ float dynamic[];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float4 v = in[i];
    sum += v.x + v.y + v.z + v.w;
  }
  for (int offset = 16; offset; offset >>= 1)
    sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = sum;
  __syncthreads();
  dynamic[threadIdx.x] = part[threadIdx.x & 7];
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(out, dynamic[0] + dynamic[255]);
    atomicAdd(&total, (double)dynamic[1]);
  }
}

extern "C" __global__ void choose(int *data, unsigned selector) {
  int local[17];
  for (int i = 0; i < 17; ++i)
    local[i] = data[i] * i;
  int value;
  switch (selector) {
  case 0: value = local[data[0] % 17]; break;
  case 1: value = data[1] / 3; break;
  case 2: value = data[2] % 7; break;
  case 3: value = __popc(data[3]); break;
  case 4: value = __clz(data[4]); break;
  case 5: value = __brev(data[5]); break;
  case 6: value = __ffs(data[6]); break;
  case 7: value = __byte_perm(data[6], data[7], 0x5410); break;
  default: value = *counterAddress; break;
  }
  data[threadIdx.x] = value;
}

extern "C" __global__ void halves(const __half2 *a, const __half2 *b, __half2 *c, __nv_bfloat162 *d, int n) {
  int i = threadIdx.x;
  __half2 x = __hfma2(a[i], b[i], c[i]);
  c[i] = __hmax2(x, __float2half2_rn(0.0f));
  if (__hbgt2(x, b[i]))
    d[i] = __floats2bfloat162_rn(__low2float(x), __high2float(x));
  d[i + n] = __hmul2(d[i], d[i]);
  c[i + n] = h2exp2(c[i]);
}

extern "C" __global__ void doubles(double *x, long long *y, unsigned long long *z) {
  int i = threadIdx.x;
  x[i] = sqrt(x[i]) / (1.0 + fma(x[i], x[i], 0.25)) + sin(x[i]) + __longlong_as_double(y[i]);
  y[i] = __double2ll_rz(x[i]) + __mul64hi(y[i], 12345);
  z[i] = __umul64hi(z[i], z[i + 1]) + __double2ull_rn(x[i]);
  x[i + 1] = floor(x[i]) + __drcp_rn(x[i]) + rsqrt(x[i]);
}

extern "C" __global__ void floats(float *x, unsigned *y) {
  int i = threadIdx.x;
  float v = x[i];
  x[i] = __expf(v) + __logf(v) + __sinf(v) + __cosf(v) + tanhf(v) + erff(v) + powf(v, 1.5f);
  x[i + 32] = __fdividef(v, 3.0f) + v / 7.0f + __frsqrt_rn(v) + __saturatef(v) + rintf(v) + copysignf(v, x[1]);
  y[i] = __float2uint_rz(v) + __float_as_uint(v) + (isnan(v) ? 1u : 0u) + (isinf(v) ? 2u : 0u);
  x[i + 64] = __fmaf_rz(v, v, v) + __fadd_ru(v, 1.0f) + __fmul_rd(v, 2.0f) + truncf(v) + fminf(v, 2.0f);
}
