// Call: one custom call of a program, made ready for a handler of the XLA FFI.
#ifndef TILEWRIGHT_PLUGIN_FFI_CALL_H
#define TILEWRIGHT_PLUGIN_FFI_CALL_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/plugin/ffi/Functions.h"
#include "tilewright/support/Status.h"

#include <xla/ffi/api/c_api.h>

#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace tilewright::plugin::ffi {

/// The attributes of a call in the form that handlers read: sorted by name, each behind a pointer.
class Attributes {
public:
  explicit Attributes(const std::vector<artifact::Attribute> &attributes);
  Attributes(const Attributes &) = delete;
  const XLA_FFI_Attrs &frame() const { return attrs; }

private:
  XLA_FFI_Attrs fill(const std::vector<artifact::Attribute> &attributes);

  // What the frame points to; a deque keeps addresses.
  std::deque<std::vector<std::byte>> values;
  std::deque<std::string> texts;
  std::deque<XLA_FFI_ByteSpan> spans;
  std::deque<XLA_FFI_Scalar> scalars;
  std::deque<XLA_FFI_Array> arrays;
  std::deque<XLA_FFI_Attrs> dictionaries;
  std::deque<std::vector<XLA_FFI_AttrType>> types;
  std::deque<std::vector<XLA_FFI_ByteSpan *>> names;
  std::deque<std::vector<void *>> pointers;
  XLA_FFI_Attrs attrs;
};

/// What a run gives to its custom calls.
struct CallContext {
  const UserData *userData = nullptr;
  ThreadPool *pool = nullptr;
  int64_t runId = 0;
  int32_t deviceOrdinal = 0;
};

/// Made once when a program is loaded; run for each run of the program, by one
/// or several threads.
class Call {
public:
  /// Instantiates the handler. - what the handler reports.
  static Result<std::unique_ptr<Call>> create(std::string target,
                                              const XLA_FFI_Handler_Bundle &handlers,
                                              const std::vector<artifact::Attribute> &attributes,
                                              std::vector<artifact::TensorType> operands,
                                              std::vector<artifact::TensorType> results);
  ~Call();

  /// Calls the handler and waits for it. Types of 2 and 4 bits are packed for it, as XLA does.
  Status run(std::span<const void *const> operands, std::span<void *const> results,
             const CallContext &context);

private:
  Call(std::string target, const XLA_FFI_Handler_Bundle &handlers,
       const std::vector<artifact::Attribute> &attributes,
       std::vector<artifact::TensorType> operands, std::vector<artifact::TensorType> results);
  Status runStage(XLA_FFI_Handler *handler, XLA_FFI_ExecutionStage stage,
                  XLA_FFI_ExecutionContext &context, std::span<void *const> operands,
                  std::span<void *const> results);

  const std::string target;
  const XLA_FFI_Handler_Bundle handlers;
  Attributes attributes;
  std::vector<artifact::TensorType> operandTypes, resultTypes;
  State instantiated;
};

/// PrimitiveType, as the FFI numbers it.
XLA_FFI_DataType toDataType(numerics::ElementType type);

} // namespace tilewright::plugin::ffi

#endif // TILEWRIGHT_PLUGIN_FFI_CALL_H
