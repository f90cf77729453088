// libcublasLt.so.13 for virtual GPUs: the functions that block-scaled products use.
#include "tilewright/cuda-api/CublasLt.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/libraries/Product.h"
#include "tilewright/vgpu/libraries/Settings.h"

#include <cstring>
#include <optional>

namespace tilewright::cuda_api {

struct cublasLtContext {};
struct cublasLtMatmulDescOpaque_t {
  int32_t pointerMode = CUBLASLT_POINTER_MODE_HOST;
  int32_t transposeA = CUBLAS_OP_N, transposeB = CUBLAS_OP_N;
  int32_t scaleModeA = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F,
          scaleModeB = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  const void *scaleA = nullptr, *scaleB = nullptr;
};
struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType_t type = CUDA_R_32F;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
};
struct cublasLtMatmulPreferenceOpaque_t {
  uint64_t maxWorkspace = 0;
};

} // namespace tilewright::cuda_api

namespace tilewright::vgpu::libraries {

using namespace cuda_api;
using numerics::ElementType;

namespace {

constexpr const char *self = "cublasLt";
/// The first version with block scaling.
constexpr int firstWithScales = 120800;
/// The bytes of workspace that an implementation asks for unless a fault says otherwise.
constexpr uint64_t usualWorkspace = 4096;

std::optional<ElementType> elementOf(cudaDataType_t type) {
  switch (type) {
  case CUDA_R_32F:
    return ElementType::f32;
  case CUDA_R_16F:
    return ElementType::f16;
  case CUDA_R_16BF:
    return ElementType::bf16;
  case CUDA_R_8F_E4M3:
    return ElementType::f8E4M3FN;
  case CUDA_R_8F_E5M2:
    return ElementType::f8E5M2;
  case CUDA_R_4F_E2M1:
    return ElementType::f4E2M1FN;
  }
  return std::nullopt;
}

/// The product that the descriptors describe, without addresses; nullopt if cuBLASLt does not
/// support it. Its matrices are column-major: A, transposed, has our columns, and B our rows.
std::optional<Product> productOf(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                 cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t d) {
  const std::optional<ElementType> left = elementOf(a->type), right = elementOf(b->type),
                                   result = elementOf(d->type);
  const bool isBy16 = desc->scaleModeA == CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3,
             isBy32 = desc->scaleModeA == CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
  if (!left || !right || !result || desc->scaleModeA != desc->scaleModeB || (!isBy16 && !isBy32) ||
      desc->transposeA != CUBLAS_OP_T || desc->transposeB != CUBLAS_OP_N || a->rows != b->rows ||
      d->rows != a->columns || d->columns != b->columns ||
      a->leading != static_cast<int64_t>(a->rows) || b->leading != static_cast<int64_t>(b->rows) ||
      d->leading != static_cast<int64_t>(d->rows))
    return std::nullopt;
  const bool isHalf = *left == ElementType::f4E2M1FN || *right == ElementType::f4E2M1FN;
  if (isBy16 != isHalf || (isHalf && *left != *right) ||
      (*left == ElementType::f8E5M2 && *right == ElementType::f8E5M2) ||
      numerics::bitWidth(*left) > 8 || numerics::bitWidth(*right) > 8 ||
      numerics::bitWidth(*result) < 16)
    return std::nullopt;
  Product product;
  product.library = self;
  product.lhs.type = *right, product.lhs.lines = static_cast<int64_t>(b->columns);
  product.rhs.type = *left, product.rhs.lines = static_cast<int64_t>(a->columns);
  product.depth = static_cast<int64_t>(a->rows);
  product.block = isBy16 ? 16 : 32;
  product.scaleType = isBy16 ? ElementType::f8E4M3FN : ElementType::f8E8M0FNU;
  product.resultType = *result;
  return product;
}

template <typename T> cublasStatus_t take(T &to, const void *data, size_t bytes) {
  if (!data || bytes != sizeof to)
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&to, data, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

/// Records the failure of a call with its reason.
cublasStatus_t fail(const char *call, cublasStatus_t status, std::string_view reason) {
  record(self, call, concat("\"reason\": \"", reason, "\""), status);
  return status;
}

} // namespace

// The functions to which Exports, below, gives C symbols.
namespace api {

static cublasStatus_t Create(cublasLtHandle_t *handle) {
  if (!handle)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (faultOf(self, Fault::Kind::create))
    return fail("cublasLtCreate", CUBLAS_STATUS_NOT_INITIALIZED, "on demand");
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t Destroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t MatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t compute,
                                       cudaDataType_t scale) {
  if (!desc || compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F)
    return CUBLAS_STATUS_INVALID_VALUE;
  *desc = new cublasLtMatmulDescOpaque_t;
  return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t MatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete desc;
  return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t MatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                             cublasLtMatmulDescAttributes_t attribute,
                                             const void *data, size_t bytes) {
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_POINTER_MODE:
    return take(desc->pointerMode, data, bytes);
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return take(desc->transposeA, data, bytes);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return take(desc->transposeB, data, bytes);
  case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
    return take(desc->scaleA, data, bytes);
  case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
    return take(desc->scaleB, data, bytes);
  case CUBLASLT_MATMUL_DESC_A_SCALE_MODE:
  case CUBLASLT_MATMUL_DESC_B_SCALE_MODE:
    if (Settings::get().cublasLtVersion < firstWithScales)
      return fail("cublasLtMatmulDescSetAttribute", CUBLAS_STATUS_INVALID_VALUE,
                  "this version has no scale modes");
    return take(attribute == CUBLASLT_MATMUL_DESC_A_SCALE_MODE ? desc->scaleModeA
                                                               : desc->scaleModeB,
                data, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

static cublasStatus_t MatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType_t type,
                                         uint64_t rows, uint64_t columns, int64_t leading) {
  if (!layout)
    return CUBLAS_STATUS_INVALID_VALUE;
  *layout = new cublasLtMatrixLayoutOpaque_t{type, rows, columns, leading};
  return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t MatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t MatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  if (!preference)
    return CUBLAS_STATUS_INVALID_VALUE;
  *preference = new cublasLtMatmulPreferenceOpaque_t;
  return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t MatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t MatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                   cublasLtMatmulPreferenceAttributes_t attribute,
                                                   const void *data, size_t bytes) {
  if (attribute != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
    return CUBLAS_STATUS_INVALID_VALUE;
  return take(preference->maxWorkspace, data, bytes);
}

static cublasStatus_t MatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                                             cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                             cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                             cublasLtMatmulPreference_t preference, int requested,
                                             cublasLtMatmulHeuristicResult_t *results,
                                             int *returned) {
  constexpr const char *call = "cublasLtMatmulAlgoGetHeuristic";
  if (requested < 1 || !results || !returned)
    return CUBLAS_STATUS_INVALID_VALUE;
  *returned = 0;
  const std::optional<Product> product = productOf(desc, a, b, d);
  if (!product)
    return fail(call, CUBLAS_STATUS_NOT_SUPPORTED, "no such block-scaled product");
  if (faultOf(self, Fault::Kind::refuse))
    return fail(call, CUBLAS_STATUS_NOT_SUPPORTED, "on demand");
  if (faultOf(self, Fault::Kind::nothing)) {
    record(self, call, product->json(), CUBLAS_STATUS_SUCCESS);
    return CUBLAS_STATUS_SUCCESS;
  }
  const Fault *workspace = faultOf(self, Fault::Kind::workspace);
  *results = {};
  results->algo.data[0] = 1;
  results->workspaceSize = workspace ? workspace->bytes : usualWorkspace;
  // An implementation within the workspace limit, unless a fault asks for one that exceeds it.
  if (!workspace && results->workspaceSize > preference->maxWorkspace)
    results->workspaceSize = 0;
  results->state = CUBLAS_STATUS_SUCCESS;
  results->wavesCount = 1;
  *returned = 1;
  record(self, call, product->json(), CUBLAS_STATUS_SUCCESS);
  return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t Matmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void *alpha,
                             const void *a, cublasLtMatrixLayout_t aLayout, const void *b,
                             cublasLtMatrixLayout_t bLayout, const void *beta, const void *c,
                             cublasLtMatrixLayout_t, void *d, cublasLtMatrixLayout_t dLayout,
                             const cublasLtMatmulAlgo_t *algo, void *workspace,
                             size_t workspaceBytes, void *stream) {
  constexpr const char *call = "cublasLtMatmul";
  std::optional<Product> product = productOf(desc, aLayout, bLayout, dLayout);
  if (!product || !algo || algo->data[0] != 1 || !alpha || !beta || c != d)
    return fail(call, CUBLAS_STATUS_INVALID_VALUE, "other arguments than those of the heuristic");
  product->number = nextNumber(self);
  product->lhs.elements = static_cast<const std::byte *>(b);
  product->rhs.elements = static_cast<const std::byte *>(a);
  product->lhs.scales = static_cast<const std::byte *>(desc->scaleB);
  product->rhs.scales = static_cast<const std::byte *>(desc->scaleA);
  product->result = static_cast<std::byte *>(d);
  product->workspace = static_cast<std::byte *>(workspace);
  product->workspaceBytes = static_cast<int64_t>(workspaceBytes);
  if (desc->pointerMode == CUBLASLT_POINTER_MODE_DEVICE)
    product->factorOnDevice = static_cast<const float *>(alpha);
  else
    product->factor = *static_cast<const float *>(alpha);
  if (const std::string reason = whyInvalid(*product); !reason.empty())
    return fail(call, CUBLAS_STATUS_INVALID_VALUE, reason);
  if (faultOf(self, Fault::Kind::launch, product->number))
    return fail(call, CUBLAS_STATUS_EXECUTION_FAILED, "on demand");
  const std::string fields = product->json();
  const cublasStatus_t status = submit(*std::move(product), stream) == 0
                                    ? CUBLAS_STATUS_SUCCESS
                                    : CUBLAS_STATUS_EXECUTION_FAILED;
  record(self, call, fields, status);
  return status;
}

} // namespace api

#define LIBRARY_EXPORTED extern "C" __attribute__((visibility("default")))

#define TILEWRIGHT_EXPORT(name, parameters, arguments)                                             \
  LIBRARY_EXPORTED cublasStatus_t cublasLt##name parameters { return api::name arguments; }
TILEWRIGHT_CUBLASLT_FUNCTIONS(TILEWRIGHT_EXPORT)
#undef TILEWRIGHT_EXPORT

LIBRARY_EXPORTED size_t cublasLtGetVersion() {
  return static_cast<size_t>(Settings::get().cublasLtVersion);
}

LIBRARY_EXPORTED const char *cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
  case CUBLAS_STATUS_SUCCESS:
    return "success";
  case CUBLAS_STATUS_NOT_INITIALIZED:
    return "the library was not initialized";
  case CUBLAS_STATUS_ALLOC_FAILED:
    return "the resource allocation failed";
  case CUBLAS_STATUS_INVALID_VALUE:
    return "an unsupported value or parameter was passed to the function";
  case CUBLAS_STATUS_ARCH_MISMATCH:
    return "the function requires an architectural feature absent from the device";
  case CUBLAS_STATUS_EXECUTION_FAILED:
    return "the function failed to launch on the GPU";
  case CUBLAS_STATUS_INTERNAL_ERROR:
    return "an internal operation failed";
  case CUBLAS_STATUS_NOT_SUPPORTED:
    return "the functionality requested is not supported";
  }
  return "unknown status";
}

} // namespace tilewright::vgpu::libraries
