#include "tilewright/cuda-api/Cudnn.h"
#include "tilewright/runtime/cuda/libraries/HandleEngine.h"
#include "tilewright/support/Concat.h"

#include <array>
#include <initializer_list>
#include <span>
#include <vector>

namespace tilewright::runtime::cuda::libraries {

using namespace cuda_api;

namespace {

struct Functions {
#define TILEWRIGHT_POINTER(name, parameters, arguments) cudnnStatus_t(*name) parameters = nullptr;
  TILEWRIGHT_CUDNN_FUNCTIONS(TILEWRIGHT_POINTER)
#undef TILEWRIGHT_POINTER
  const char *(*GetErrorString)(cudnnStatus_t) = nullptr;
  size_t (*GetVersion)() = nullptr;

  Status check(cudnnStatus_t status, std::string_view function) const {
    return checkCall(status, GetErrorString, "cudnn", function);
  }
};

/// The ids by which a run refers to the tensors of its graph.
enum TensorId : int64_t { lhsId = 1, rhsId, lhsScaleId, rhsScaleId, factorId, resultId, virtualId };

cudnnDataType_t typeOf(ElementType type) {
  switch (type) {
  case ElementType::f8E4M3FN:
    return CUDNN_DATA_FP8_E4M3;
  case ElementType::f8E5M2:
    return CUDNN_DATA_FP8_E5M2;
  case ElementType::f8E8M0FNU:
    return CUDNN_DATA_FP8_E8M0;
  case ElementType::f4E2M1FN:
    return CUDNN_DATA_FP4_E2M1;
  case ElementType::f16:
    return CUDNN_DATA_HALF;
  case ElementType::bf16:
    return CUDNN_DATA_BFLOAT16;
  default:
    return CUDNN_DATA_FLOAT;
  }
}

using Dims = std::array<int64_t, 3>;

/// Descriptors in the order in which they were made; the last are destroyed first.
class Descriptors {
public:
  explicit Descriptors(const Functions &functions) : functions(functions) {}
  ~Descriptors() {
    for (auto it = all.rbegin(); it != all.rend(); ++it)
      functions.BackendDestroyDescriptor(*it);
  }
  Descriptors(const Descriptors &) = delete;
  Descriptors &operator=(const Descriptors &) = delete;

  Result<cudnnBackendDescriptor_t> make(cudnnBackendDescriptorType_t type) {
    cudnnBackendDescriptor_t made = nullptr;
    TILEWRIGHT_TRY(
        functions.check(functions.BackendCreateDescriptor(type, &made), "BackendCreateDescriptor"));
    all.push_back(made);
    return made;
  }
  template <typename T>
  Status set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
             cudnnBackendAttributeType_t type, std::span<const T> values) {
    return functions.check(functions.BackendSetAttribute(descriptor, name, type,
                                                         static_cast<int64_t>(values.size()),
                                                         values.data()),
                           "BackendSetAttribute");
  }
  template <typename T>
  Status set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
             cudnnBackendAttributeType_t type, const T &value) {
    return set(descriptor, name, type, std::span<const T>(&value, 1));
  }
  Status finalize(cudnnBackendDescriptor_t descriptor) {
    return functions.check(functions.BackendFinalize(descriptor), "BackendFinalize");
  }

private:
  const Functions &functions;
  std::vector<cudnnBackendDescriptor_t> all;
};

/// The graph: both operands are dequantised and multiplied, and the product is multiplied by the
/// factor. Only the operands and the result are in memory.
class Plan final : public LibraryPlan {
public:
  Plan(const Functions &functions, cudnnHandle_t handle, const ScaledProduct &product)
      : functions(functions), handle(handle), product(product), descriptors(functions) {}

  Status prepare(size_t maxWorkspace) {
    TILEWRIGHT_ASSIGN(cudnnBackendDescriptor_t graph, makeGraph());
    TILEWRIGHT_TRY(choose(graph));
    int64_t bytes = 0, count = 0;
    TILEWRIGHT_TRY(functions.check(
        functions.BackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                      CUDNN_TYPE_INT64, 1, &count, &bytes),
        "BackendGetAttribute"));
    workspace = static_cast<size_t>(bytes);
    if (workspace > maxWorkspace)
      return Status(Code::unavailable, concat("its plan needs a workspace of ", workspace,
                                              " bytes, the limit is ", maxWorkspace));
    return Status();
  }

  size_t workspaceBytes() const override { return workspace; }

  Status run(const ProductAddresses &addresses, CUdeviceptr workspaceAddress,
             CUstream stream) override {
    TILEWRIGHT_TRY(functions.check(functions.SetStream(handle, stream), "SetStream"));
    std::vector<int64_t> ids = {lhsId, rhsId, lhsScaleId, rhsScaleId, resultId};
    std::vector<void *> pointers;
    for (CUdeviceptr address :
         {addresses.lhs, addresses.rhs, addresses.lhsScale, addresses.rhsScale, addresses.result})
      pointers.push_back(reinterpret_cast<void *>(address));
    if (product.factor != artifact::none) {
      ids.push_back(factorId);
      pointers.push_back(reinterpret_cast<void *>(addresses.factor));
    }
    Descriptors ofRun(functions);
    TILEWRIGHT_ASSIGN(cudnnBackendDescriptor_t pack,
                      ofRun.make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
    TILEWRIGHT_TRY(ofRun.set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
                             std::span<const int64_t>(ids)));
    TILEWRIGHT_TRY(ofRun.set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                             std::span<void *const>(pointers)));
    TILEWRIGHT_TRY(ofRun.set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
                             reinterpret_cast<void *>(workspaceAddress)));
    TILEWRIGHT_TRY(ofRun.finalize(pack));
    return functions.check(functions.BackendExecute(handle, plan, pack), "BackendExecute");
  }

  /// Public for tests, which have no GPU to run the plan.
  Result<cudnnBackendDescriptor_t> makeGraph() {
    const auto [batch, rows, columns, depth] =
        std::array{product.batch, product.rows, product.columns, product.depth};
    auto padded = [](int64_t lines) { return (lines + 127) / 128 * 128; };
    const int64_t blocks = (depth / product.block + 3) / 4 * 4;
    const Dims lhsDims = {batch, rows, depth}, lhsStrides = {rows * depth, depth, 1};
    const Dims rhsDims = {batch, depth, columns}, rhsStrides = {columns * depth, 1, depth};
    TILEWRIGHT_ASSIGN(auto *lhs, tensor(lhsId, typeOf(product.lhsType), lhsDims, lhsStrides));
    TILEWRIGHT_ASSIGN(auto *rhs, tensor(rhsId, typeOf(product.rhsType), rhsDims, rhsStrides));
    TILEWRIGHT_ASSIGN(auto *lhsScale,
                      tensor(lhsScaleId, typeOf(product.scaleType), {batch, padded(rows), blocks},
                             {padded(rows) * blocks, blocks, 1}, Kind::scales));
    TILEWRIGHT_ASSIGN(auto *rhsScale, tensor(rhsScaleId, typeOf(product.scaleType),
                                             {batch, blocks, padded(columns)},
                                             {padded(columns) * blocks, 1, blocks}, Kind::scales));
    TILEWRIGHT_ASSIGN(auto *wideLhs,
                      tensor(virtualId, CUDNN_DATA_FLOAT, lhsDims, lhsStrides, Kind::intermediate));
    TILEWRIGHT_ASSIGN(auto *wideRhs, tensor(virtualId + 1, CUDNN_DATA_FLOAT, rhsDims, rhsStrides,
                                            Kind::intermediate));
    std::vector<cudnnBackendDescriptor_t> operations;
    TILEWRIGHT_ASSIGN(auto *lhsOperation, dequantise(lhs, lhsScale, wideLhs));
    TILEWRIGHT_ASSIGN(auto *rhsOperation, dequantise(rhs, rhsScale, wideRhs));
    operations = {lhsOperation, rhsOperation};
    TILEWRIGHT_TRY(addProduct(wideLhs, wideRhs, operations));
    TILEWRIGHT_ASSIGN(auto *graph, descriptors.make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
    if (handle)
      TILEWRIGHT_TRY(
          descriptors.set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle));
    TILEWRIGHT_TRY(descriptors.set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                   std::span<const cudnnBackendDescriptor_t>(operations)));
    TILEWRIGHT_TRY(descriptors.finalize(graph));
    return graph;
  }

private:
  enum class Kind : uint8_t { inMemory, scales, intermediate };

  Result<cudnnBackendDescriptor_t> tensor(int64_t id, cudnnDataType_t type, const Dims &dims,
                                          const Dims &strides, Kind kind = Kind::inMemory) {
    TILEWRIGHT_ASSIGN(auto *made, descriptors.make(CUDNN_BACKEND_TENSOR_DESCRIPTOR));
    TILEWRIGHT_TRY(descriptors.set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type));
    TILEWRIGHT_TRY(descriptors.set(made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64,
                                   std::span<const int64_t>(dims)));
    TILEWRIGHT_TRY(descriptors.set(made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64,
                                   std::span<const int64_t>(strides)));
    TILEWRIGHT_TRY(descriptors.set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id));
    TILEWRIGHT_TRY(
        descriptors.set(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, int64_t(16)));
    if (kind == Kind::intermediate)
      TILEWRIGHT_TRY(descriptors.set(made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true));
    if (kind == Kind::scales)
      TILEWRIGHT_TRY(descriptors.set(made, CUDNN_ATTR_TENSOR_REORDERING_MODE,
                                     CUDNN_TYPE_TENSOR_REORDERING_MODE,
                                     CUDNN_TENSOR_REORDERING_F8_128x4));
    TILEWRIGHT_TRY(descriptors.finalize(made));
    return made;
  }

  /// Sets attributes that are descriptors.
  Status
  link(cudnnBackendDescriptor_t to,
       std::initializer_list<std::pair<cudnnBackendAttributeName_t, cudnnBackendDescriptor_t>>
           links) {
    for (auto [name, from] : links)
      TILEWRIGHT_TRY(descriptors.set(to, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, from));
    return Status();
  }

  Result<cudnnBackendDescriptor_t> dequantise(cudnnBackendDescriptor_t elements,
                                              cudnnBackendDescriptor_t scales,
                                              cudnnBackendDescriptor_t wide) {
    TILEWRIGHT_ASSIGN(auto *made,
                      descriptors.make(CUDNN_BACKEND_OPERATION_BLOCK_SCALE_DEQUANTIZE_DESCRIPTOR));
    TILEWRIGHT_TRY(link(made, {{CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_XDESC, elements},
                               {CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_SCALE_DESC, scales},
                               {CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_YDESC, wide}}));
    TILEWRIGHT_TRY(descriptors.set(made, CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_MATH_PREC,
                                   CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
    TILEWRIGHT_TRY(descriptors.set(made, CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_BLOCK_SIZE,
                                   CUDNN_TYPE_INT32, static_cast<int32_t>(product.block)));
    TILEWRIGHT_TRY(descriptors.finalize(made));
    return made;
  }

  Status addProduct(cudnnBackendDescriptor_t lhs, cudnnBackendDescriptor_t rhs,
                    std::vector<cudnnBackendDescriptor_t> &operations) {
    const Dims dims = {product.batch, product.rows, product.columns},
               strides = {product.rows * product.columns, product.columns, 1};
    TILEWRIGHT_ASSIGN(auto *result, tensor(resultId, typeOf(product.resultType), dims, strides));
    cudnnBackendDescriptor_t sums = result;
    if (product.factor != artifact::none) {
      TILEWRIGHT_ASSIGN(sums,
                        tensor(virtualId + 2, CUDNN_DATA_FLOAT, dims, strides, Kind::intermediate));
    }
    TILEWRIGHT_ASSIGN(auto *multiply, descriptors.make(CUDNN_BACKEND_MATMUL_DESCRIPTOR));
    TILEWRIGHT_TRY(descriptors.set(multiply, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                                   CUDNN_DATA_FLOAT));
    TILEWRIGHT_TRY(descriptors.finalize(multiply));
    TILEWRIGHT_ASSIGN(auto *operation, descriptors.make(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR));
    TILEWRIGHT_TRY(link(operation, {{CUDNN_ATTR_OPERATION_MATMUL_ADESC, lhs},
                                    {CUDNN_ATTR_OPERATION_MATMUL_BDESC, rhs},
                                    {CUDNN_ATTR_OPERATION_MATMUL_CDESC, sums},
                                    {CUDNN_ATTR_OPERATION_MATMUL_DESC, multiply}}));
    TILEWRIGHT_TRY(descriptors.finalize(operation));
    operations.push_back(operation);
    return sums == result ? Status() : addFactor(sums, result, operations);
  }

  Status addFactor(cudnnBackendDescriptor_t sums, cudnnBackendDescriptor_t result,
                   std::vector<cudnnBackendDescriptor_t> &operations) {
    TILEWRIGHT_ASSIGN(auto *factor, tensor(factorId, CUDNN_DATA_FLOAT, {1, 1, 1}, {1, 1, 1}));
    TILEWRIGHT_ASSIGN(auto *scale, descriptors.make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
    TILEWRIGHT_TRY(descriptors.set(scale, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE,
                                   CUDNN_POINTWISE_MUL));
    TILEWRIGHT_TRY(descriptors.set(scale, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
                                   CUDNN_DATA_FLOAT));
    TILEWRIGHT_TRY(descriptors.finalize(scale));
    TILEWRIGHT_ASSIGN(auto *operation,
                      descriptors.make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
    TILEWRIGHT_TRY(link(operation, {{CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, scale},
                                    {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, sums},
                                    {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, factor},
                                    {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result}}));
    TILEWRIGHT_TRY(descriptors.finalize(operation));
    operations.push_back(operation);
    return Status();
  }

  /// Chooses the first of the heuristic's configurations from which cuDNN can make a plan.
  Status choose(cudnnBackendDescriptor_t graph) {
    Status last(Code::unavailable, "its heuristic found no engine");
    TILEWRIGHT_ASSIGN(auto *heuristic, descriptors.make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
    TILEWRIGHT_TRY(link(heuristic, {{CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph}}));
    TILEWRIGHT_TRY(descriptors.set(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE,
                                   CUDNN_HEUR_MODE_A));
    TILEWRIGHT_TRY(descriptors.finalize(heuristic));
    constexpr int64_t asked = 8;
    std::vector<cudnnBackendDescriptor_t> configurations;
    for (int64_t i = 0; i < asked; ++i) {
      TILEWRIGHT_ASSIGN(auto *made, descriptors.make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
      configurations.push_back(made);
    }
    int64_t count = 0;
    TILEWRIGHT_TRY(
        functions.check(functions.BackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                                      CUDNN_TYPE_BACKEND_DESCRIPTOR, asked, &count,
                                                      configurations.data()),
                        "BackendGetAttribute"));
    for (int64_t i = 0; i < count && i < asked; ++i) {
      TILEWRIGHT_ASSIGN(auto *made, descriptors.make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
      TILEWRIGHT_TRY(
          descriptors.set(made, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle));
      TILEWRIGHT_TRY(link(made, {{CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                                  configurations[static_cast<size_t>(i)]}}));
      last = descriptors.finalize(made);
      if (last.isOk()) {
        plan = made;
        return Status();
      }
    }
    return last;
  }

  const Functions &functions;
  const cudnnHandle_t handle;
  const ScaledProduct product;
  Descriptors descriptors;
  cudnnBackendDescriptor_t plan = nullptr;
  size_t workspace = 0;
};

using Engine = HandleEngine<Library::cudnn, Functions, cudnnHandle_t, Plan>;

} // namespace

Result<LoadedLibrary> loadCudnn(const std::string &file) {
  TILEWRIGHT_ASSIGN(const OpenLibrary library, OpenLibrary::open(file));
  auto functions = std::make_shared<Functions>();
#define TILEWRIGHT_FIND(name, parameters, arguments)                                               \
  TILEWRIGHT_TRY(library.find("cudnn" #name, functions->name));
  TILEWRIGHT_CUDNN_FUNCTIONS(TILEWRIGHT_FIND)
  TILEWRIGHT_FIND(GetErrorString, , )
  TILEWRIGHT_FIND(GetVersion, , )
#undef TILEWRIGHT_FIND
  return LoadedLibrary{Library::cudnn, file, static_cast<int>(functions->GetVersion()),
                       Engine::connect, functions};
}

/// Has cuDNN check the graph of a product, which needs no GPU.
Status checkCudnnGraph(const LoadedLibrary &loaded, const ScaledProduct &product) {
  return Plan(*std::static_pointer_cast<const Functions>(loaded.functions), nullptr, product)
      .makeGraph()
      .takeStatus();
}

} // namespace tilewright::runtime::cuda::libraries
