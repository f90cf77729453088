#include "tilewright/plugin/ffi/Call.h"

#include "tilewright/numerics/PackedElements.h"
#include "tilewright/plugin/Types.h"
#include "tilewright/plugin/ffi/Registry.h"
#include "tilewright/runtime/copy/StridedCopy.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace tilewright::plugin::ffi {
namespace {

using artifact::TensorType;

/// Whether handlers expect several elements of this type in a byte, as XLA has them. The operands
/// and results of a custom call have one element in each byte.
bool isPacked(const TensorType &type) {
  unsigned bits = numerics::bitWidth(type.element);
  return bits == 2 || bits == 4;
}

size_t elementCount(const TensorType &type) {
  size_t count = 1;
  for (int64_t size : type.dims)
    count *= static_cast<size_t>(size);
  return count;
}

size_t byteCount(const TensorType &type) {
  return elementCount(type) * numerics::storageBytes(type.element);
}

void pack(const TensorType &type, const void *from, std::vector<std::byte> &to) {
  const size_t count = elementCount(type);
  to.assign(count + 1, std::byte(0)); // handlers may assume one byte for each element
  numerics::packElements(type.element, to.data(), static_cast<const std::byte *>(from),
                         static_cast<int64_t>(count));
}

void unpack(const TensorType &type, const void *from, std::byte *elements) {
  numerics::unpackElements(type.element, elements, static_cast<const std::byte *>(from),
                           static_cast<int64_t>(elementCount(type)));
}

/// The buffers of a call frame and the list of pointers to them.
template <typename Description> struct Buffers {
  Buffers(std::span<const Description> descriptions, std::span<void *const> data) {
    for (size_t i = 0; i < descriptions.size(); ++i) {
      const TensorType &type = descriptions[i].type;
      XLA_FFI_Buffer buffer = {};
      buffer.struct_size = XLA_FFI_Buffer_STRUCT_SIZE;
      buffer.dtype = toDataType(type.element);
      buffer.data = data[i];
      buffer.rank = static_cast<int64_t>(type.dims.size());
      buffer.dims = const_cast<int64_t *>(type.dims.data());
      buffers.push_back(buffer);
    }
    for (XLA_FFI_Buffer &buffer : buffers)
      pointers.push_back(&buffer);
  }
  std::vector<XLA_FFI_Buffer> buffers;
  std::vector<void *> pointers;
};

/// Copies a buffer between two dimension orders, ours and the handler's.
void reorder(const TensorType &type, const std::vector<int64_t> &fromOrder, const void *from,
             const std::vector<int64_t> &toOrder, void *to, ThreadPool *pool) {
  size_t bytes = numerics::storageBytes(type.element);
  runtime::copyStrided(static_cast<std::byte *>(to),
                       runtime::denseStrides(type.dims, bytes, toOrder),
                       static_cast<const std::byte *>(from),
                       runtime::denseStrides(type.dims, bytes, fromOrder), type.dims, bytes, pool);
}

} // namespace

bool Call::HandlerBuffer::needsCopy() const { return isPacked(type) || !order.empty(); }

Result<std::vector<Call::HandlerBuffer>>
Call::describeBuffers(std::vector<TensorType> types,
                      const std::vector<artifact::Attribute> &attributes,
                      std::string_view layouts) {
  std::vector<int64_t> orders;
  for (const artifact::Attribute &attribute : attributes)
    if (auto *value = std::get_if<artifact::Elements>(&attribute.value);
        attribute.name == layouts && value && value->type == numerics::ElementType::i64) {
      orders.resize(value->bytes.size() / sizeof(int64_t));
      std::memcpy(orders.data(), value->bytes.data(), orders.size() * sizeof(int64_t));
    }
  const bool isTransposed =
      std::any_of(attributes.begin(), attributes.end(), [](const artifact::Attribute &attribute) {
        return attribute.name == transposedBuffers;
      });
  std::vector<HandlerBuffer> buffers;
  size_t next = 0;
  for (TensorType &type : types) {
    size_t rank = type.dims.size();
    HandlerBuffer buffer = {std::move(type), {}};
    if (!orders.empty()) {
      if (orders.size() - next < rank)
        return Status(
            Error::handlerInvalid,
            "the layouts of a custom call must have one entry for each dimension of its buffers");
      buffer.order.assign(orders.begin() + static_cast<ptrdiff_t>(next),
                          orders.begin() + static_cast<ptrdiff_t>(next + rank));
      next += rank;
      std::vector<int64_t> sorted = buffer.order;
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      if (sorted != rowMajor(rank))
        return Status(
            Error::handlerInvalid,
            "each layout of a custom call must be a permutation of the buffer's dimensions");
      if (isTransposed) {
        std::vector<int64_t> dims = buffer.type.dims;
        for (size_t i = 0; i < rank; ++i)
          buffer.type.dims[static_cast<size_t>(buffer.order[rank - 1 - i])] = dims[i];
      }
      if (isTransposed || buffer.order == sorted)
        buffer.order.clear();
    }
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

Call::Call(std::string target, const XLA_FFI_Handler_Bundle &handlers,
           const std::vector<artifact::Attribute> &attributes, std::vector<HandlerBuffer> operands,
           std::vector<HandlerBuffer> results)
    : target(std::move(target)), handlers(handlers), attributes(attributes),
      operandBuffers(std::move(operands)), resultBuffers(std::move(results)) {}

Result<std::unique_ptr<Call>> Call::create(std::string target,
                                           const XLA_FFI_Handler_Bundle &handlers,
                                           const std::vector<artifact::Attribute> &attributes,
                                           std::vector<TensorType> operands,
                                           std::vector<TensorType> results) {
  TILEWRIGHT_ASSIGN(std::vector<HandlerBuffer> inputs,
                    describeBuffers(std::move(operands), attributes, operandLayouts));
  TILEWRIGHT_ASSIGN(std::vector<HandlerBuffer> outputs,
                    describeBuffers(std::move(results), attributes, resultLayouts));
  std::vector<artifact::Attribute> given;
  for (const artifact::Attribute &attribute : attributes)
    if (attribute.name != operandLayouts && attribute.name != resultLayouts &&
        attribute.name != transposedBuffers)
      given.push_back(attribute);
  std::unique_ptr<Call> call(
      new Call(std::move(target), handlers, given, std::move(inputs), std::move(outputs)));
  if (handlers.instantiate) {
    XLA_FFI_ExecutionContext context;
    TILEWRIGHT_TRY(
        call->runStage(handlers.instantiate, XLA_FFI_ExecutionStage_INSTANTIATE, context, {}, {}));
    call->instantiated = context.states[XLA_FFI_ExecutionStage_INSTANTIATE];
  }
  return call;
}

Call::~Call() {
  if (instantiated.object)
    Registry::global().destroy(instantiated.type, instantiated.object);
}

Status Call::run(std::span<const void *const> operands, std::span<void *const> results,
                 const CallContext &given) {
  // Copies of buffers that are repacked or transposed for the handler.
  std::deque<std::vector<std::byte>> copies;
  std::vector<void *> inputs, outputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    const HandlerBuffer &buffer = operandBuffers[i];
    inputs.push_back(const_cast<void *>(operands[i]));
    if (!buffer.order.empty()) {
      std::vector<std::byte> &copy = copies.emplace_back(byteCount(buffer.type));
      reorder(buffer.type, {}, inputs[i], buffer.order, copy.data(), given.pool);
      inputs[i] = copy.data();
    }
    if (isPacked(buffer.type)) {
      std::vector<std::byte> &copy = copies.emplace_back();
      pack(buffer.type, inputs[i], copy);
      inputs[i] = copy.data();
    }
  }
  for (size_t i = 0; i < results.size(); ++i)
    outputs.push_back(resultBuffers[i].needsCopy()
                          ? copies.emplace_back(byteCount(resultBuffers[i].type) + 1).data()
                          : results[i]);

  XLA_FFI_ExecutionContext context;
  context.userData = given.userData;
  context.pool = given.pool;
  context.runId = given.runId;
  context.deviceOrdinal = given.deviceOrdinal;
  context.queue = given.queue;
  context.states[XLA_FFI_ExecutionStage_INSTANTIATE] = instantiated;
  struct Stage {
    XLA_FFI_Handler *handler;
    XLA_FFI_ExecutionStage stage;
  };
  Status status;
  for (Stage stage : {Stage{handlers.prepare, XLA_FFI_ExecutionStage_PREPARE},
                      Stage{handlers.initialize, XLA_FFI_ExecutionStage_INITIALIZE},
                      Stage{handlers.execute, XLA_FFI_ExecutionStage_EXECUTE}})
    if (stage.handler && status.isOk())
      status = runStage(stage.handler, stage.stage, context, inputs, outputs);
  for (size_t stage = 1; stage < context.states.size(); ++stage)
    if (context.states[stage].object)
      Registry::global().destroy(context.states[stage].type, context.states[stage].object);

  for (size_t i = 0; status.isOk() && i < results.size(); ++i) {
    const HandlerBuffer &buffer = resultBuffers[i];
    std::vector<std::byte> unpacked;
    if (isPacked(buffer.type)) {
      unpacked.resize(byteCount(buffer.type));
      unpack(buffer.type, outputs[i], unpacked.data());
      outputs[i] = unpacked.data();
    }
    if (buffer.needsCopy())
      reorder(buffer.type, buffer.order, outputs[i], {}, results[i], given.pool);
  }
  return status;
}

Status Call::runStage(XLA_FFI_Handler *handler, XLA_FFI_ExecutionStage stage,
                      XLA_FFI_ExecutionContext &context, std::span<void *const> operands,
                      std::span<void *const> results) {
  // The stages of a run have buffers; instantiation has only attributes.
  bool hasBuffers = stage != XLA_FFI_ExecutionStage_INSTANTIATE;
  Buffers<HandlerBuffer> inputs(
      std::span(operandBuffers).first(hasBuffers ? operandBuffers.size() : 0), operands);
  Buffers<HandlerBuffer> outputs(
      std::span(resultBuffers).first(hasBuffers ? resultBuffers.size() : 0), results);
  std::vector<XLA_FFI_ArgType> argTypes(inputs.pointers.size(), XLA_FFI_ArgType_BUFFER);
  std::vector<XLA_FFI_RetType> retTypes(outputs.pointers.size(), XLA_FFI_RetType_BUFFER);
  XLA_FFI_CallFrame frame = {};
  frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  frame.api = &functions();
  frame.ctx = &context;
  frame.stage = stage;
  frame.args = {XLA_FFI_Args_STRUCT_SIZE, nullptr, static_cast<int64_t>(argTypes.size()),
                argTypes.data(), inputs.pointers.data()};
  frame.rets = {XLA_FFI_Rets_STRUCT_SIZE, nullptr, static_cast<int64_t>(retTypes.size()),
                retTypes.data(), outputs.pointers.data()};
  frame.attrs = attributes.frame();
  Status status = takeError(handler(&frame));
  Status finished = takeFuture(frame.future);
  return status.isOk() ? std::move(finished) : std::move(status);
}

} // namespace tilewright::plugin::ffi
