#include "tilewright/cuda-api/CublasLt.h"
#include "tilewright/runtime/cuda/libraries/HandleEngine.h"
#include "tilewright/support/Concat.h"

namespace tilewright::runtime::cuda::libraries {

using namespace cuda_api;

namespace {

struct Functions {
#define TILEWRIGHT_POINTER(name, parameters, arguments) cublasStatus_t(*name) parameters = nullptr;
  TILEWRIGHT_CUBLASLT_FUNCTIONS(TILEWRIGHT_POINTER)
#undef TILEWRIGHT_POINTER
  const char *(*GetStatusString)(cublasStatus_t) = nullptr;
  size_t (*GetVersion)() = nullptr;

  Status check(cublasStatus_t status, std::string_view function) const {
    return checkCall(status, GetStatusString, "cublasLt", function);
  }
};

#define TILEWRIGHT_TRY_LT(functions, name, ...)                                                    \
  TILEWRIGHT_TRY((functions).check((functions).name(__VA_ARGS__), #name))

cudaDataType_t typeOf(ElementType type) {
  switch (type) {
  case ElementType::f8E4M3FN:
    return CUDA_R_8F_E4M3;
  case ElementType::f8E5M2:
    return CUDA_R_8F_E5M2;
  case ElementType::f4E2M1FN:
    return CUDA_R_4F_E2M1;
  case ElementType::f16:
    return CUDA_R_16F;
  case ElementType::bf16:
    return CUDA_R_16BF;
  default:
    return CUDA_R_32F;
  }
}

/// cuBLASLt's matrices are column-major, so it computes the transpose of the result. The left
/// operand is then `rhs`: its rows are columns along k, and are transposed.
class Plan final : public LibraryPlan {
public:
  Plan(const Functions &functions, cublasLtHandle_t handle, const ScaledProduct &product)
      : functions(functions), handle(handle), product(product) {}
  ~Plan() override {
    if (desc)
      functions.MatmulDescDestroy(desc);
    if (preference)
      functions.MatmulPreferenceDestroy(preference);
    for (cublasLtMatrixLayout_t layout : {left, right, out})
      if (layout)
        functions.MatrixLayoutDestroy(layout);
  }

  Status prepare(size_t maxWorkspace) {
    TILEWRIGHT_TRY_LT(functions, MatmulDescCreate, &desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    TILEWRIGHT_TRY(set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t(CUBLAS_OP_T)));
    TILEWRIGHT_TRY(set(CUBLASLT_MATMUL_DESC_TRANSB, int32_t(CUBLAS_OP_N)));
    const int32_t mode = product.block == 16 ? CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3
                                             : CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
    TILEWRIGHT_TRY(set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode));
    TILEWRIGHT_TRY(set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode));
    if (product.factor != artifact::none)
      TILEWRIGHT_TRY(set(CUBLASLT_MATMUL_DESC_POINTER_MODE, int32_t(CUBLASLT_POINTER_MODE_DEVICE)));
    const auto rows = static_cast<uint64_t>(product.rows),
               columns = static_cast<uint64_t>(product.columns),
               depth = static_cast<uint64_t>(product.depth);
    TILEWRIGHT_TRY_LT(functions, MatrixLayoutCreate, &left, typeOf(product.rhsType), depth, columns,
                      product.depth);
    TILEWRIGHT_TRY_LT(functions, MatrixLayoutCreate, &right, typeOf(product.lhsType), depth, rows,
                      product.depth);
    TILEWRIGHT_TRY_LT(functions, MatrixLayoutCreate, &out, typeOf(product.resultType), columns,
                      rows, product.columns);
    TILEWRIGHT_TRY_LT(functions, MatmulPreferenceCreate, &preference);
    TILEWRIGHT_TRY_LT(functions, MatmulPreferenceSetAttribute, preference,
                      CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &maxWorkspace, sizeof maxWorkspace);
    int count = 0;
    TILEWRIGHT_TRY_LT(functions, MatmulAlgoGetHeuristic, handle, desc, left, right, out, out,
                      preference, 1, &choice, &count);
    if (count < 1)
      return Status(Code::unavailable, "cublasLtMatmulAlgoGetHeuristic found no algorithm");
    TILEWRIGHT_TRY(functions.check(choice.state, "MatmulAlgoGetHeuristic"));
    if (choice.workspaceSize > maxWorkspace)
      return Status(Code::unavailable,
                    concat("its algorithm needs a workspace of ", choice.workspaceSize,
                           " bytes, the limit is ", maxWorkspace));
    return Status();
  }

  size_t workspaceBytes() const override { return choice.workspaceSize; }

  Status run(const ProductAddresses &addresses, CUdeviceptr workspace, CUstream stream) override {
    const float one = 1, zero = 0;
    const bool hasFactor = product.factor != artifact::none;
    for (int64_t i = 0; i < product.batch; ++i) {
      auto at = [&](CUdeviceptr begin, int64_t bytes) {
        return reinterpret_cast<void *>(begin + static_cast<CUdeviceptr>(i * bytes));
      };
      TILEWRIGHT_TRY(set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                         at(addresses.rhsScale, product.rhsScaleBytes())));
      TILEWRIGHT_TRY(set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                         at(addresses.lhsScale, product.lhsScaleBytes())));
      void *result = at(addresses.result, product.resultBytes());
      TILEWRIGHT_TRY_LT(
          functions, Matmul, handle, desc, hasFactor ? at(addresses.factor, 0) : &one,
          at(addresses.rhs, product.rhsBytes()), left, at(addresses.lhs, product.lhsBytes()), right,
          hasFactor ? at(addresses.zero, 0) : &zero, result, out, result, out, &choice.algo,
          reinterpret_cast<void *>(workspace), choice.workspaceSize, stream);
    }
    return Status();
  }

private:
  template <typename T> Status set(cublasLtMatmulDescAttributes_t attribute, const T &value) {
    return functions.check(functions.MatmulDescSetAttribute(desc, attribute, &value, sizeof value),
                           "MatmulDescSetAttribute");
  }

  const Functions &functions;
  const cublasLtHandle_t handle;
  const ScaledProduct product;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatrixLayout_t left = nullptr, right = nullptr, out = nullptr;
  cublasLtMatmulHeuristicResult_t choice = {};
};

using Engine = HandleEngine<Library::cublasLt, Functions, cublasLtHandle_t, Plan>;

} // namespace

Result<LoadedLibrary> loadCublasLt(const std::string &file) {
  TILEWRIGHT_ASSIGN(const OpenLibrary library, OpenLibrary::open(file));
  auto functions = std::make_shared<Functions>();
#define TILEWRIGHT_FIND(name, parameters, arguments)                                               \
  TILEWRIGHT_TRY(library.find("cublasLt" #name, functions->name));
  TILEWRIGHT_CUBLASLT_FUNCTIONS(TILEWRIGHT_FIND)
  TILEWRIGHT_FIND(GetStatusString, , )
  TILEWRIGHT_FIND(GetVersion, , )
#undef TILEWRIGHT_FIND
  return LoadedLibrary{Library::cublasLt, file, static_cast<int>(functions->GetVersion()),
                       Engine::connect, functions};
}

} // namespace tilewright::runtime::cuda::libraries
