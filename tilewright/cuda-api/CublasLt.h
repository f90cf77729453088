// The part of cuBLASLt's C interface that block-scaled products need: names, values and layouts as
// NVIDIA documents them. cuBLAS is not needed to build; where its header is installed,
// LibraryTypesTest compares every value here with it.
#ifndef TILEWRIGHT_CUDA_API_CUBLASLT_H
#define TILEWRIGHT_CUDA_API_CUBLASLT_H

#include <cstddef>
#include <cstdint>

namespace tilewright::cuda_api {

enum cublasStatus_t : int {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
};

/// The element types of block-scaled products (cudaDataType_t).
enum cudaDataType_t : int {
  CUDA_R_32F = 0,
  CUDA_R_16F = 2,
  CUDA_R_16BF = 14,
  CUDA_R_8F_E4M3 = 28,
  CUDA_R_8F_E5M2 = 29,
  CUDA_R_4F_E2M1 = 33,
};

enum cublasComputeType_t : int { CUBLAS_COMPUTE_32F = 68 };
enum cublasOperation_t : int { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum cublasLtPointerMode_t : int {
  CUBLASLT_POINTER_MODE_HOST = 0,
  CUBLASLT_POINTER_MODE_DEVICE = 1,
};
enum cublasLtMatmulMatrixScale_t : int {
  CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F = 0,
  CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3 = 1,
  CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0 = 2,
};

enum cublasLtMatmulDescAttributes_t : int {
  CUBLASLT_MATMUL_DESC_POINTER_MODE = 2,
  CUBLASLT_MATMUL_DESC_TRANSA = 3,
  CUBLASLT_MATMUL_DESC_TRANSB = 4,
  CUBLASLT_MATMUL_DESC_A_SCALE_POINTER = 17,
  CUBLASLT_MATMUL_DESC_B_SCALE_POINTER = 18,
  CUBLASLT_MATMUL_DESC_A_SCALE_MODE = 31,
  CUBLASLT_MATMUL_DESC_B_SCALE_MODE = 32,
};
enum cublasLtMatmulPreferenceAttributes_t : int { CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1 };

using cublasLtHandle_t = struct cublasLtContext *;
using cublasLtMatmulDesc_t = struct cublasLtMatmulDescOpaque_t *;
using cublasLtMatrixLayout_t = struct cublasLtMatrixLayoutOpaque_t *;
using cublasLtMatmulPreference_t = struct cublasLtMatmulPreferenceOpaque_t *;

struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};
struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};

} // namespace tilewright::cuda_api

/// F(name without cublasLt, (parameters), (arguments)): the functions that we use and that return a
/// status. Streams are void *, as in all libraries over the driver.
#define TILEWRIGHT_CUBLASLT_FUNCTIONS(F)                                                           \
  F(Create, (cublasLtHandle_t * handle), (handle))                                                 \
  F(Destroy, (cublasLtHandle_t handle), (handle))                                                  \
  F(MatmulDescCreate,                                                                              \
    (cublasLtMatmulDesc_t * desc, cublasComputeType_t compute, cudaDataType_t scale),              \
    (desc, compute, scale))                                                                        \
  F(MatmulDescDestroy, (cublasLtMatmulDesc_t desc), (desc))                                        \
  F(MatmulDescSetAttribute,                                                                        \
    (cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute, const void *data,        \
     size_t bytes),                                                                                \
    (desc, attribute, data, bytes))                                                                \
  F(MatrixLayoutCreate,                                                                            \
    (cublasLtMatrixLayout_t * layout, cudaDataType_t type, uint64_t rows, uint64_t columns,        \
     int64_t leading),                                                                             \
    (layout, type, rows, columns, leading))                                                        \
  F(MatrixLayoutDestroy, (cublasLtMatrixLayout_t layout), (layout))                                \
  F(MatmulPreferenceCreate, (cublasLtMatmulPreference_t * preference), (preference))               \
  F(MatmulPreferenceDestroy, (cublasLtMatmulPreference_t preference), (preference))                \
  F(MatmulPreferenceSetAttribute,                                                                  \
    (cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,        \
     const void *data, size_t bytes),                                                              \
    (preference, attribute, data, bytes))                                                          \
  F(MatmulAlgoGetHeuristic,                                                                        \
    (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,                 \
     cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,                 \
     cublasLtMatmulPreference_t preference, int requested,                                         \
     cublasLtMatmulHeuristicResult_t *results, int *returned),                                     \
    (handle, desc, a, b, c, d, preference, requested, results, returned))                          \
  F(Matmul,                                                                                        \
    (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *a,         \
     cublasLtMatrixLayout_t aLayout, const void *b, cublasLtMatrixLayout_t bLayout,                \
     const void *beta, const void *c, cublasLtMatrixLayout_t cLayout, void *d,                     \
     cublasLtMatrixLayout_t dLayout, const cublasLtMatmulAlgo_t *algo, void *workspace,            \
     size_t workspaceBytes, void *stream),                                                         \
    (handle, desc, alpha, a, aLayout, b, bLayout, beta, c, cLayout, d, dLayout, algo, workspace,   \
     workspaceBytes, stream))

#endif // TILEWRIGHT_CUDA_API_CUBLASLT_H
