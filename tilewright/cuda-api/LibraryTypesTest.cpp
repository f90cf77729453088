// Compares our declarations of cuBLASLt and cuDNN with NVIDIA's headers, where those are installed.
// The comparison is at compile time; the tests report that it took place. Where the libraries are
// installed, too, their functions are looked up and called as far as that is possible without a
// GPU.
#include "tilewright/cuda-api/CublasLt.h"
#include "tilewright/cuda-api/Cudnn.h"

#include <cublasLt.h>
#include <cudnn.h>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <tuple>

namespace ours = tilewright::cuda_api;

#define SAME(name) static_assert(int(ours::name) == int(::name), #name)

SAME(CUBLAS_STATUS_SUCCESS);
SAME(CUBLAS_STATUS_NOT_INITIALIZED);
SAME(CUBLAS_STATUS_ALLOC_FAILED);
SAME(CUBLAS_STATUS_INVALID_VALUE);
SAME(CUBLAS_STATUS_ARCH_MISMATCH);
SAME(CUBLAS_STATUS_EXECUTION_FAILED);
SAME(CUBLAS_STATUS_INTERNAL_ERROR);
SAME(CUBLAS_STATUS_NOT_SUPPORTED);
SAME(CUDA_R_32F);
SAME(CUDA_R_16F);
SAME(CUDA_R_16BF);
SAME(CUDA_R_8F_E4M3);
SAME(CUDA_R_8F_E5M2);
SAME(CUDA_R_4F_E2M1);
SAME(CUBLAS_COMPUTE_32F);
SAME(CUBLAS_OP_N);
SAME(CUBLAS_OP_T);
SAME(CUBLASLT_POINTER_MODE_HOST);
SAME(CUBLASLT_POINTER_MODE_DEVICE);
SAME(CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F);
SAME(CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3);
SAME(CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0);
SAME(CUBLASLT_MATMUL_DESC_POINTER_MODE);
SAME(CUBLASLT_MATMUL_DESC_TRANSA);
SAME(CUBLASLT_MATMUL_DESC_TRANSB);
SAME(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
SAME(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
SAME(CUBLASLT_MATMUL_DESC_A_SCALE_MODE);
SAME(CUBLASLT_MATMUL_DESC_B_SCALE_MODE);
SAME(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);

#define SAME_MEMBER(type, member)                                                                  \
  static_assert(offsetof(ours::type, member) == offsetof(::type, member) &&                        \
                    sizeof(ours::type::member) == sizeof(::type::member),                          \
                #type "::" #member)
static_assert(sizeof(ours::cublasLtMatmulAlgo_t) == sizeof(::cublasLtMatmulAlgo_t));
static_assert(sizeof(ours::cublasLtMatmulHeuristicResult_t) ==
              sizeof(::cublasLtMatmulHeuristicResult_t));
SAME_MEMBER(cublasLtMatmulHeuristicResult_t, algo);
SAME_MEMBER(cublasLtMatmulHeuristicResult_t, workspaceSize);
SAME_MEMBER(cublasLtMatmulHeuristicResult_t, state);
SAME_MEMBER(cublasLtMatmulHeuristicResult_t, wavesCount);

SAME(CUDNN_STATUS_SUCCESS);
SAME(CUDNN_STATUS_NOT_INITIALIZED);
SAME(CUDNN_STATUS_BAD_PARAM);
SAME(CUDNN_STATUS_NOT_SUPPORTED);
SAME(CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH);
SAME(CUDNN_STATUS_INTERNAL_ERROR);
SAME(CUDNN_STATUS_EXECUTION_FAILED);
SAME(CUDNN_DATA_FLOAT);
SAME(CUDNN_DATA_HALF);
SAME(CUDNN_DATA_BFLOAT16);
SAME(CUDNN_DATA_FP8_E4M3);
SAME(CUDNN_DATA_FP8_E5M2);
SAME(CUDNN_DATA_FP8_E8M0);
SAME(CUDNN_DATA_FP4_E2M1);
SAME(CUDNN_POINTWISE_MUL);
SAME(CUDNN_HEUR_MODE_FALLBACK);
SAME(CUDNN_HEUR_MODE_A);
SAME(CUDNN_TENSOR_REORDERING_NONE);
SAME(CUDNN_TENSOR_REORDERING_F8_128x4);
SAME(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
SAME(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
SAME(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
SAME(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
SAME(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
SAME(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
SAME(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
SAME(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
SAME(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
SAME(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
SAME(CUDNN_BACKEND_OPERATION_BLOCK_SCALE_DEQUANTIZE_DESCRIPTOR);
SAME(CUDNN_TYPE_HANDLE);
SAME(CUDNN_TYPE_DATA_TYPE);
SAME(CUDNN_TYPE_BOOLEAN);
SAME(CUDNN_TYPE_INT64);
SAME(CUDNN_TYPE_VOID_PTR);
SAME(CUDNN_TYPE_HEUR_MODE);
SAME(CUDNN_TYPE_POINTWISE_MODE);
SAME(CUDNN_TYPE_BACKEND_DESCRIPTOR);
SAME(CUDNN_TYPE_TENSOR_REORDERING_MODE);
SAME(CUDNN_TYPE_INT32);
SAME(CUDNN_ATTR_POINTWISE_MODE);
SAME(CUDNN_ATTR_POINTWISE_MATH_PREC);
SAME(CUDNN_ATTR_ENGINEHEUR_MODE);
SAME(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
SAME(CUDNN_ATTR_ENGINEHEUR_RESULTS);
SAME(CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
SAME(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
SAME(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
SAME(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
SAME(CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
SAME(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
SAME(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
SAME(CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
SAME(CUDNN_ATTR_OPERATIONGRAPH_OPS);
SAME(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
SAME(CUDNN_ATTR_TENSOR_DATA_TYPE);
SAME(CUDNN_ATTR_TENSOR_DIMENSIONS);
SAME(CUDNN_ATTR_TENSOR_STRIDES);
SAME(CUDNN_ATTR_TENSOR_UNIQUE_ID);
SAME(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
SAME(CUDNN_ATTR_TENSOR_REORDERING_MODE);
SAME(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
SAME(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
SAME(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
SAME(CUDNN_ATTR_MATMUL_COMP_TYPE);
SAME(CUDNN_ATTR_OPERATION_MATMUL_ADESC);
SAME(CUDNN_ATTR_OPERATION_MATMUL_BDESC);
SAME(CUDNN_ATTR_OPERATION_MATMUL_CDESC);
SAME(CUDNN_ATTR_OPERATION_MATMUL_DESC);
SAME(CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_XDESC);
SAME(CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_SCALE_DESC);
SAME(CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_YDESC);
SAME(CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_MATH_PREC);
SAME(CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_BLOCK_SIZE);

/// Types with the same size, kind and pointers: parameters of one function by two declarations.
template <typename Ours, typename Theirs>
inline constexpr bool isSameInC =
    sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
    std::is_enum_v<Ours> == std::is_enum_v<Theirs> &&
    std::is_integral_v<Ours> == std::is_integral_v<Theirs>;
template <typename... Ours, typename... Theirs>
constexpr bool isSameFunction(std::tuple<Ours...> *, std::tuple<Theirs...> *) {
  if constexpr (sizeof...(Ours) == sizeof...(Theirs))
    return (isSameInC<Ours, Theirs> && ...);
  return false;
}
template <typename R, typename... P> std::tuple<P...> *parametersOf(R (*)(P...)) { return nullptr; }

namespace tilewright::cuda_api {
#define CHECK(name, parameters, arguments)                                                         \
  static_assert(                                                                                   \
      isSameFunction(decltype(parametersOf(static_cast<cublasStatus_t(*) parameters>(nullptr)))(), \
                     decltype(parametersOf(&::cublasLt##name))()),                                 \
      "cublasLt" #name);
TILEWRIGHT_CUBLASLT_FUNCTIONS(CHECK)
#undef CHECK
#define CHECK(name, parameters, arguments)                                                         \
  static_assert(                                                                                   \
      isSameFunction(decltype(parametersOf(static_cast<cudnnStatus_t(*) parameters>(nullptr)))(),  \
                     decltype(parametersOf(&::cudnn##name))()),                                    \
      "cudnn" #name);
TILEWRIGHT_CUDNN_FUNCTIONS(CHECK)
#undef CHECK
} // namespace tilewright::cuda_api

TEST(LibraryTypes, DeclarationsAreThoseOfTheInstalledHeaders) {
  std::printf("compared with cuBLAS %d and cuDNN %d\n", CUBLAS_VERSION, CUDNN_VERSION);
}
