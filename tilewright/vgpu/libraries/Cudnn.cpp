// libcudnn.so.9 for virtual GPUs: the backend API, for graphs of block-scaled products.
#include "tilewright/cuda-api/Cudnn.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/libraries/Product.h"
#include "tilewright/vgpu/libraries/Settings.h"

#include <cstring>
#include <map>
#include <optional>
#include <vector>

namespace tilewright::cuda_api {

struct cudnnContext {
  void *stream = nullptr;
};

} // namespace tilewright::cuda_api

namespace tilewright::vgpu::libraries {

using namespace cuda_api;
using numerics::ElementType;

namespace {

constexpr const char *self = "cudnn";
/// The first version with block scaling, and the first that permits further operations after such a
/// product.
constexpr int firstWithScales = 90700, firstWithFactor = 91300;
constexpr int64_t usualWorkspace = 512;

size_t bytesOf(cudnnBackendAttributeType_t type) {
  switch (type) {
  case CUDNN_TYPE_BOOLEAN:
    return 1;
  case CUDNN_TYPE_HANDLE:
  case CUDNN_TYPE_INT64:
  case CUDNN_TYPE_VOID_PTR:
  case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    return 8;
  default:
    return 4;
  }
}

struct Descriptor {
  cudnnBackendDescriptorType_t type = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
  bool isFinal = false;
  struct Attribute {
    cudnnBackendAttributeType_t type;
    std::vector<std::byte> bytes;
  };
  std::map<int, Attribute> attributes;
  Descriptor *graph = nullptr;    // of a configuration, or of a plan
  std::optional<Product> product; // of a graph

  template <typename T> std::vector<T> list(cudnnBackendAttributeName_t name) const {
    auto it = attributes.find(name);
    if (it == attributes.end())
      return {};
    std::vector<T> values(it->second.bytes.size() / sizeof(T));
    std::memcpy(values.data(), it->second.bytes.data(), values.size() * sizeof(T));
    return values;
  }
  template <typename T> T value(cudnnBackendAttributeName_t name, T missing = {}) const {
    const std::vector<T> values = list<T>(name);
    return values.empty() ? missing : values[0];
  }
  Descriptor *link(cudnnBackendAttributeName_t name) const { return value<Descriptor *>(name); }
};

cudnnStatus_t fail(const char *call, cudnnStatus_t status, std::string_view reason) {
  record(self, call, concat("\"reason\": \"", reason, "\""), status);
  return status;
}

std::optional<ElementType> elementOf(const Descriptor &tensor) {
  switch (tensor.value<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE)) {
  case CUDNN_DATA_FLOAT:
    return ElementType::f32;
  case CUDNN_DATA_HALF:
    return ElementType::f16;
  case CUDNN_DATA_BFLOAT16:
    return ElementType::bf16;
  case CUDNN_DATA_FP8_E4M3:
    return ElementType::f8E4M3FN;
  case CUDNN_DATA_FP8_E5M2:
    return ElementType::f8E5M2;
  case CUDNN_DATA_FP8_E8M0:
    return ElementType::f8E8M0FNU;
  case CUDNN_DATA_FP4_E2M1:
    return ElementType::f4E2M1FN;
  }
  return std::nullopt;
}

/// Reads a graph of two dequantisations, a product, and perhaps a factor.
class GraphReader {
public:
  explicit GraphReader(const Descriptor &graph)
      : operations(graph.list<Descriptor *>(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {}

  /// Why the graph is not such a product; empty if it is.
  std::string read(Product &product) {
    product.library = self;
    const Descriptor *multiply = nullptr;
    for (const Descriptor *operation : operations)
      if (operation->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
        multiply = operation;
    if (!multiply)
      return "the graph has no product";
    const Descriptor *result = multiply->link(CUDNN_ATTR_OPERATION_MATMUL_CDESC);
    if (operations.size() == 4) {
      const Descriptor &scale = *operations[3];
      if (Settings::get().cudnnVersion < firstWithFactor)
        return "this version has no operations after a block-scaled product";
      if (scale.type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR ||
          scale.link(CUDNN_ATTR_OPERATION_POINTWISE_XDESC) != result)
        return "the last operation does not multiply the product";
      factor = scale.link(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
      result = scale.link(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    } else if (operations.size() != 3) {
      return "the graph has neither 3 nor 4 operations";
    }
    const auto dims = result->list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
    if (dims.size() != 3)
      return "tensors do not have 3 dimensions";
    product.batch = dims[0];
    product.lhs.lines = dims[1], product.rhs.lines = dims[2];
    const std::optional<ElementType> type = elementOf(*result);
    if (!type || numerics::bitWidth(*type) < 16)
      return "no such type of results";
    product.resultType = *type;
    if (std::string problem =
            readSide(multiply->link(CUDNN_ATTR_OPERATION_MATMUL_ADESC), 1, 2, product.lhs, product);
        !problem.empty())
      return problem;
    if (std::string problem =
            readSide(multiply->link(CUDNN_ATTR_OPERATION_MATMUL_BDESC), 2, 1, product.rhs, product);
        !problem.empty())
      return problem;
    return whyNotThisFormat(product);
  }

  const Descriptor *factor = nullptr;

private:
  /// The operand whose dequantised tensor is `wide`, with rows in dimension `line`.
  std::string readSide(const Descriptor *wide, size_t line, size_t along, Side &side,
                       Product &product) {
    for (const Descriptor *operation : operations) {
      if (operation->type != CUDNN_BACKEND_OPERATION_BLOCK_SCALE_DEQUANTIZE_DESCRIPTOR ||
          operation->link(CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_YDESC) != wide)
        continue;
      const Descriptor &elements =
          *operation->link(CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_XDESC);
      const Descriptor &scales =
          *operation->link(CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_SCALE_DESC);
      const auto dims = elements.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
                 strides = elements.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES),
                 scaleDims = scales.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
      if (dims.size() != 3 || strides.size() != 3 || scaleDims.size() != 3 ||
          dims[line] != side.lines || strides[along] != 1 || strides[line] != dims[along])
        return "a side does not have the shape of the product";
      product.depth = dims[along];
      product.block =
          operation->value<int32_t>(CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_BLOCK_SIZE);
      if (scales.value<int32_t>(CUDNN_ATTR_TENSOR_REORDERING_MODE) !=
          CUDNN_TENSOR_REORDERING_F8_128x4)
        return "scales are not ordered by F8_128x4";
      const std::optional<ElementType> type = elementOf(elements), scaleType = elementOf(scales);
      if (!type || !scaleType || product.block < 1)
        return "no such types";
      if (scaleDims[line] != (side.lines + 127) / 128 * 128 ||
          scaleDims[along] != (product.depth / product.block + 3) / 4 * 4)
        return "scales are not padded to 128 rows and 4 blocks";
      side.type = *type;
      product.scaleType = *scaleType;
      return "";
    }
    return "a side is not dequantised";
  }

  static std::string whyNotThisFormat(const Product &product) {
    const bool isHalf = product.lhs.type == ElementType::f4E2M1FN;
    const bool isNvfp4 = isHalf && product.rhs.type == product.lhs.type && product.block == 16 &&
                         product.scaleType == ElementType::f8E4M3FN;
    auto isByte = [](ElementType type) {
      return type == ElementType::f8E4M3FN || type == ElementType::f8E5M2;
    };
    const bool isMxfp8 =
        isByte(product.lhs.type) && isByte(product.rhs.type) &&
        (product.lhs.type == ElementType::f8E4M3FN || product.rhs.type == ElementType::f8E4M3FN) &&
        product.block == 32 && product.scaleType == ElementType::f8E8M0FNU;
    return isNvfp4 || isMxfp8 ? "" : "no engine for these formats";
  }

  const std::vector<Descriptor *> operations;
};

} // namespace

namespace api {

static cudnnStatus_t Create(cudnnHandle_t *handle) {
  if (!handle)
    return CUDNN_STATUS_BAD_PARAM;
  if (faultOf(self, Fault::Kind::create))
    return fail("cudnnCreate", CUDNN_STATUS_NOT_INITIALIZED, "on demand");
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}
static cudnnStatus_t Destroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}
static cudnnStatus_t SetStream(cudnnHandle_t handle, void *stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t BackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                             cudnnBackendDescriptor_t *descriptor) {
  if (!descriptor)
    return CUDNN_STATUS_BAD_PARAM;
  if (type == CUDNN_BACKEND_OPERATION_BLOCK_SCALE_DEQUANTIZE_DESCRIPTOR &&
      Settings::get().cudnnVersion < firstWithScales)
    return fail("cudnnBackendCreateDescriptor", CUDNN_STATUS_NOT_SUPPORTED,
                "this version has no block scales");
  auto *made = new Descriptor;
  made->type = type;
  *descriptor = made;
  return CUDNN_STATUS_SUCCESS;
}
static cudnnStatus_t BackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete static_cast<Descriptor *>(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t BackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                         cudnnBackendAttributeName_t name,
                                         cudnnBackendAttributeType_t type, int64_t count,
                                         const void *elements) {
  auto &self = *static_cast<Descriptor *>(descriptor);
  if (self.isFinal || count < 1 || !elements)
    return CUDNN_STATUS_BAD_PARAM;
  std::vector<std::byte> bytes(static_cast<size_t>(count) * bytesOf(type));
  std::memcpy(bytes.data(), elements, bytes.size());
  self.attributes[name] = {type, std::move(bytes)};
  return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t BackendFinalize(cudnnBackendDescriptor_t handle) {
  constexpr const char *call = "cudnnBackendFinalize";
  auto &descriptor = *static_cast<Descriptor *>(handle);
  // All descriptors to which this one refers must be complete.
  for (const auto &[name, attribute] : descriptor.attributes)
    if (attribute.type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
      for (const Descriptor *part :
           descriptor.list<Descriptor *>(static_cast<cudnnBackendAttributeName_t>(name)))
        if (!part || !part->isFinal)
          return fail(call, CUDNN_STATUS_BAD_PARAM, "refers to a descriptor that is not final");
  if (descriptor.type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) {
    descriptor.graph = descriptor.link(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    if (!descriptor.graph)
      return CUDNN_STATUS_BAD_PARAM;
    Product product;
    if (const std::string problem = GraphReader(*descriptor.graph).read(product); !problem.empty())
      return fail(call, CUDNN_STATUS_NOT_SUPPORTED, problem);
    if (faultOf(self, Fault::Kind::refuse))
      return fail(call, CUDNN_STATUS_NOT_SUPPORTED, "on demand");
    descriptor.graph->product = product;
    record(self, call, product.json(), CUDNN_STATUS_SUCCESS);
  }
  if (descriptor.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    const Descriptor *configuration = descriptor.link(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    if (!configuration || !descriptor.value<void *>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE))
      return CUDNN_STATUS_BAD_PARAM;
    descriptor.graph = configuration->graph;
  }
  descriptor.isFinal = true;
  return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t BackendGetAttribute(cudnnBackendDescriptor_t handle,
                                         cudnnBackendAttributeName_t name,
                                         cudnnBackendAttributeType_t, int64_t requested,
                                         int64_t *count, void *elements) {
  auto &descriptor = *static_cast<Descriptor *>(handle);
  if (!descriptor.isFinal || !count)
    return CUDNN_STATUS_BAD_PARAM;
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
    *count = faultOf(self, Fault::Kind::nothing) ? 0 : 1;
    if (*count > 0 && requested > 0 && elements) {
      Descriptor *configuration = *static_cast<Descriptor **>(elements);
      configuration->graph = descriptor.graph;
      configuration->isFinal = true;
    }
    return CUDNN_STATUS_SUCCESS;
  }
  if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && requested == 1 && elements) {
    const Fault *workspace = faultOf(self, Fault::Kind::workspace);
    const int64_t bytes = workspace ? static_cast<int64_t>(workspace->bytes) : usualWorkspace;
    *count = 1;
    std::memcpy(elements, &bytes, sizeof bytes);
    return CUDNN_STATUS_SUCCESS;
  }
  return CUDNN_STATUS_NOT_SUPPORTED;
}

static cudnnStatus_t BackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                    cudnnBackendDescriptor_t pack) {
  constexpr const char *call = "cudnnBackendExecute";
  const Descriptor *graph = static_cast<Descriptor *>(plan)->graph;
  const auto &variants = *static_cast<Descriptor *>(pack);
  if (!graph || !graph->product || !variants.isFinal)
    return fail(call, CUDNN_STATUS_BAD_PARAM, "not a plan of a product");
  const auto ids = variants.list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = variants.list<std::byte *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  auto addressOf = [&](const Descriptor *tensor) -> std::byte * {
    const auto id = tensor->value<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
    for (size_t i = 0; i < ids.size() && i < pointers.size(); ++i)
      if (ids[i] == id)
        return pointers[i];
    return nullptr;
  };
  Product product = *graph->product;
  product.number = nextNumber(self);
  const auto operations = graph->list<Descriptor *>(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  for (size_t i = 0; i < 2; ++i) {
    Side &side = i == 0 ? product.lhs : product.rhs;
    const Descriptor *wide = operations[2]->link(i == 0 ? CUDNN_ATTR_OPERATION_MATMUL_ADESC
                                                        : CUDNN_ATTR_OPERATION_MATMUL_BDESC);
    for (const Descriptor *operation : {operations[0], operations[1]})
      if (operation->link(CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_YDESC) == wide) {
        side.elements =
            addressOf(operation->link(CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_XDESC));
        side.scales =
            addressOf(operation->link(CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_SCALE_DESC));
      }
  }
  const Descriptor *result = operations[2]->link(CUDNN_ATTR_OPERATION_MATMUL_CDESC);
  if (operations.size() == 4) {
    result = operations[3]->link(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    product.factorOnDevice = reinterpret_cast<const float *>(
        addressOf(operations[3]->link(CUDNN_ATTR_OPERATION_POINTWISE_BDESC)));
  }
  product.result = addressOf(result);
  product.workspace = variants.value<std::byte *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  const Fault *workspace = faultOf(self, Fault::Kind::workspace);
  product.workspaceBytes = workspace ? static_cast<int64_t>(workspace->bytes) : usualWorkspace;
  if (const std::string reason = whyInvalid(product); !reason.empty())
    return fail(call, CUDNN_STATUS_BAD_PARAM, reason);
  if (operations.size() == 4 && !product.factorOnDevice)
    return fail(call, CUDNN_STATUS_BAD_PARAM, "the factor has no address");
  if (faultOf(self, Fault::Kind::launch, product.number))
    return fail(call, CUDNN_STATUS_EXECUTION_FAILED, "on demand");
  const std::string fields = product.json();
  const cudnnStatus_t status = submit(std::move(product), handle->stream) == 0
                                   ? CUDNN_STATUS_SUCCESS
                                   : CUDNN_STATUS_EXECUTION_FAILED;
  record(self, call, fields, status);
  return status;
}

} // namespace api

#define LIBRARY_EXPORTED extern "C" __attribute__((visibility("default")))

#define TILEWRIGHT_EXPORT(name, parameters, arguments)                                             \
  LIBRARY_EXPORTED cudnnStatus_t cudnn##name parameters { return api::name arguments; }
TILEWRIGHT_CUDNN_FUNCTIONS(TILEWRIGHT_EXPORT)
#undef TILEWRIGHT_EXPORT

LIBRARY_EXPORTED size_t cudnnGetVersion() {
  return static_cast<size_t>(Settings::get().cudnnVersion);
}

LIBRARY_EXPORTED const char *cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
  case CUDNN_STATUS_SUCCESS:
    return "CUDNN_STATUS_SUCCESS";
  case CUDNN_STATUS_NOT_INITIALIZED:
    return "CUDNN_STATUS_NOT_INITIALIZED";
  case CUDNN_STATUS_BAD_PARAM:
    return "CUDNN_STATUS_BAD_PARAM";
  case CUDNN_STATUS_NOT_SUPPORTED:
    return "CUDNN_STATUS_NOT_SUPPORTED";
  case CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH:
    return "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH";
  case CUDNN_STATUS_INTERNAL_ERROR:
    return "CUDNN_STATUS_INTERNAL_ERROR";
  case CUDNN_STATUS_EXECUTION_FAILED:
    return "CUDNN_STATUS_EXECUTION_FAILED";
  }
  return "unknown status";
}

} // namespace tilewright::vgpu::libraries
