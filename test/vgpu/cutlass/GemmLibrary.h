/* Between gemm.cu, which nvcc compiles with CUTLASS, and GemmRunner.cpp, which is
 * compiled without CUDA. */
#ifndef TEST_VGPU_CUTLASS_GEMMLIBRARY_H
#define TEST_VGPU_CUTLASS_GEMMLIBRARY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* d = alpha * a * b + beta * c; a is m × k, b is k × n, c and d are m × n by rows. */
typedef struct GemmProblem {
  int m, n, k;
  const void *a, *b, *c;
  void *d;
  float alpha, beta;
  int multiprocessors; /* how many blocks a persistent kernel starts */
  int splits;          /* of stream-K, along k */
} GemmProblem;

typedef struct GemmLaunch {
  uint32_t grid[3], block[3], cluster[3];
  uint32_t shared_bytes;
  const void *parameters; /* of the kernel: one struct, by value */
  size_t parameter_bytes;
} GemmLaunch;

enum { GEMM_F32, GEMM_F16, GEMM_BF16, GEMM_E4M3, GEMM_E5M2 };

typedef struct GemmDescription {
  int a, b, d; /* element types */
  int a_is_row_major, b_is_row_major, has_relu;
} GemmDescription;

/* 0 on success; 1: CUTLASS does not take the shape; 2: no workspace. */
int gemm_prepare(const GemmProblem *problem, GemmLaunch *launch);
void gemm_describe(GemmDescription *description);

#ifdef __cplusplus
}
#endif

#endif // TEST_VGPU_CUTLASS_GEMMLIBRARY_H
