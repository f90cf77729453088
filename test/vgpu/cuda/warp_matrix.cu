// The matrices of nvcuda::wmma in every type, from memory to memory.
//   nvcc -std=c++17 -arch=sm_80 -ptx warp_matrix.cu
#include <cuda_bf16.h>
#include <mma.h>

using namespace nvcuda::wmma;

template <class Layout> constexpr bool isByRows = false;
template <> constexpr bool isByRows<row_major> = true;

template <int m, int n, int k, class Factor, class Sum, class Stored, class LayoutA, class LayoutB>
__device__ void multiply(const Stored *a, const Stored *b, const Sum *c, Sum *d) {
  fragment<matrix_a, m, n, k, Factor, LayoutA> fa;
  fragment<matrix_b, m, n, k, Factor, LayoutB> fb;
  fragment<accumulator, m, n, k, Sum> fc, fd;
  load_matrix_sync(fa, a, isByRows<LayoutA> ? k : m);
  load_matrix_sync(fb, b, isByRows<LayoutB> ? n : k);
  load_matrix_sync(fc, c, n, mem_row_major);
  mma_sync(fd, fa, fb, fc);
  // Elements of a fragment may be changed without knowing where they are.
  for (int i = 0; i < fd.num_elements; ++i)
    fd.x[i] = fd.x[i] + fc.x[i];
  store_matrix_sync(d, fd, n, mem_row_major);
}

extern "C" __global__ void multiply_f16(const half *a, const half *b, const float *c, float *d) {
  multiply<16, 16, 16, half, float, half, row_major, col_major>(a, b, c, d);
}
extern "C" __global__ void multiply_f16_wide(const half *a, const half *b, const float *c,
                                             float *d) {
  multiply<8, 32, 16, half, float, half, col_major, row_major>(a, b, c, d);
}
extern "C" __global__ void multiply_bf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b,
                                         const float *c, float *d) {
  multiply<32, 8, 16, __nv_bfloat16, float, __nv_bfloat16, row_major, row_major>(a, b, c, d);
}
extern "C" __global__ void multiply_tf32(const float *a, const float *b, const float *c, float *d) {
  multiply<16, 16, 8, precision::tf32, float, float, row_major, col_major>(a, b, c, d);
}
extern "C" __global__ void multiply_f64(const double *a, const double *b, const double *c,
                                        double *d) {
  multiply<8, 8, 4, double, double, double, col_major, col_major>(a, b, c, d);
}
extern "C" __global__ void multiply_s8(const signed char *a, const signed char *b, const int *c,
                                       int *d) {
  multiply<16, 16, 16, signed char, int, signed char, row_major, col_major>(a, b, c, d);
}
