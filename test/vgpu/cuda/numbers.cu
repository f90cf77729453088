// Intrinsics of CUDA C++ on integers, halves and the small floats.
//   nvcc -std=c++17 -arch=sm_90 -ptx numbers.cu
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" __global__ void integers(const unsigned *a, const unsigned *b, unsigned *out,
                                    int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  const unsigned x = a[i], y = b[i];
  unsigned *to = out + i * 12;
  to[0] = __popc(x) + 100 * __clz(x) + 10000 * __ffs(x);
  to[1] = __brev(x);
  to[2] = __byte_perm(x, y, 0x3715);
  to[3] = __funnelshift_l(x, y, y & 31);
  to[4] = __umulhi(x, y) ^ __mulhi(int(x), int(y));
  to[5] = __dp4a(int(x), int(y), 7);
  to[6] = __dp2a_lo(int(x), int(y), 7);
  to[7] = __usad(x, y, 3) + __sad(int(x), int(y), 3u);
  to[8] = (x & y) ^ (~x | y);
  to[9] = x / (y | 1) + x % (y | 1);
  to[10] = int(x) / int(y | 1);
  to[11] = unsigned((x * 1ull * y) >> 17);
}

extern "C" __global__ void halves(const half2 *a, const half2 *b, half2 *out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  out[3 * i] = __hfma2(a[i], b[i], __hadd2(a[i], b[i]));
  out[3 * i + 1] = __hmax2(__hmul2(a[i], b[i]), __hneg2(a[i]));
  out[3 * i + 2] = __hlt2(a[i], b[i]);
}

extern "C" __global__ void small_floats(const float *a, unsigned char *e4m3, unsigned char *e5m2,
                                        unsigned short *bf16, float *back, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  e4m3[i] = __nv_cvt_float_to_fp8(a[i], __NV_SATFINITE, __NV_E4M3);
  e5m2[i] = __nv_cvt_float_to_fp8(a[i], __NV_SATFINITE, __NV_E5M2);
  bf16[i] = __bfloat16_as_ushort(__float2bfloat16_rn(a[i]));
  back[i] = __half2float(__half(__nv_cvt_fp8_to_halfraw(e4m3[i], __NV_E4M3)));
}
