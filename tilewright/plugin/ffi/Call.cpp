#include "tilewright/plugin/ffi/Call.h"

#include "tilewright/numerics/Shape.h"
#include "tilewright/plugin/ffi/Registry.h"
#include "tilewright/support/Concat.h"

#include <cstring>

namespace tilewright::plugin::ffi {
namespace {

using artifact::TensorType;

/// XLA keeps two or four elements of these in a byte, first the low bits; we keep one.
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

void pack(const TensorType &type, const void *from, std::vector<std::byte> &to) {
  unsigned bits = numerics::bitWidth(type.element), perByte = 8 / bits;
  size_t count = elementCount(type);
  to.assign(count + 1, std::byte(0)); // handlers may assume a byte for each element
  auto *elements = static_cast<const std::byte *>(from);
  for (size_t i = 0; i < count; ++i)
    to[i / perByte] |= (elements[i] & std::byte((1u << bits) - 1)) << (bits * (i % perByte));
}

void unpack(const TensorType &type, const std::vector<std::byte> &from, void *to) {
  unsigned bits = numerics::bitWidth(type.element), perByte = 8 / bits;
  auto *elements = static_cast<std::byte *>(to);
  for (size_t i = 0, count = elementCount(type); i < count; ++i)
    elements[i] = (from[i / perByte] >> (bits * (i % perByte))) & std::byte((1u << bits) - 1);
}

/// Buffers with the pointers that the frame wants.
struct Buffers {
  Buffers(const std::vector<TensorType> &types, std::span<void *const> data) {
    for (size_t i = 0; i < types.size(); ++i) {
      XLA_FFI_Buffer buffer = {};
      buffer.struct_size = XLA_FFI_Buffer_STRUCT_SIZE;
      buffer.dtype = toDataType(types[i].element);
      buffer.data = i < data.size() ? data[i] : nullptr;
      buffer.rank = static_cast<int64_t>(types[i].dims.size());
      buffer.dims = const_cast<int64_t *>(types[i].dims.data());
      buffers.push_back(buffer);
    }
    for (XLA_FFI_Buffer &buffer : buffers)
      pointers.push_back(&buffer);
  }
  std::vector<XLA_FFI_Buffer> buffers;
  std::vector<void *> pointers;
};

} // namespace

Call::Call(std::string target, const XLA_FFI_Handler_Bundle &handlers,
           const std::vector<artifact::Attribute> &attributes, std::vector<TensorType> operands,
           std::vector<TensorType> results)
    : target(std::move(target)), handlers(handlers), attributes(attributes),
      operandTypes(std::move(operands)), resultTypes(std::move(results)) {}

Result<std::unique_ptr<Call>> Call::create(std::string target,
                                           const XLA_FFI_Handler_Bundle &handlers,
                                           const std::vector<artifact::Attribute> &attributes,
                                           std::vector<TensorType> operands,
                                           std::vector<TensorType> results) {
  std::unique_ptr<Call> call(
      new Call(std::move(target), handlers, attributes, std::move(operands), std::move(results)));
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
  std::vector<std::vector<std::byte>> packed(operands.size() + results.size());
  std::vector<void *> inputs, outputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    inputs.push_back(const_cast<void *>(operands[i]));
    if (isPacked(operandTypes[i])) {
      pack(operandTypes[i], operands[i], packed[i]);
      inputs.back() = packed[i].data();
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    outputs.push_back(results[i]);
    if (isPacked(resultTypes[i])) {
      packed[operands.size() + i].resize(elementCount(resultTypes[i]) + 1);
      outputs.back() = packed[operands.size() + i].data();
    }
  }

  XLA_FFI_ExecutionContext context;
  context.userData = given.userData;
  context.pool = given.pool;
  context.runId = given.runId;
  context.deviceOrdinal = given.deviceOrdinal;
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
  for (size_t i = 0; status.isOk() && i < results.size(); ++i)
    if (isPacked(resultTypes[i]))
      unpack(resultTypes[i], packed[operands.size() + i], results[i]);
  return status;
}

Status Call::runStage(XLA_FFI_Handler *handler, XLA_FFI_ExecutionStage stage,
                      XLA_FFI_ExecutionContext &context, std::span<void *const> operands,
                      std::span<void *const> results) {
  // Only stages of a run have buffers; instantiation has the attributes alone.
  bool hasBuffers = stage != XLA_FFI_ExecutionStage_INSTANTIATE;
  Buffers inputs(hasBuffers ? operandTypes : std::vector<TensorType>(), operands);
  Buffers outputs(hasBuffers ? resultTypes : std::vector<TensorType>(), results);
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
