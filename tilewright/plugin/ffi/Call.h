// Call: one custom call of a program, prepared for a handler of the XLA FFI.
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
#include <string_view>
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

  // The storage that the frame points to; a deque, because its elements keep their addresses.
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

/// The attributes that hold the layouts of the operands and results; Call reads them and does not
/// pass them to the handler. Each is one list of int64: the concatenated minor-to-major orders of
/// all operands or results, as in operand_layouts of stablehlo.custom_call. Without it, all buffers
/// are row-major. LAPACK needs column-major buffers.
inline constexpr std::string_view operandLayouts = "tilewright.operand_layouts";
inline constexpr std::string_view resultLayouts = "tilewright.result_layouts";
/// With this attribute, the plan's buffers already have these layouts, and the plan's types list
/// the dimensions from major to minor.
inline constexpr std::string_view transposedBuffers = "tilewright.transposed";

/// Data that a run passes to its custom calls.
struct CallContext {
  const UserData *userData = nullptr;
  ThreadPool *pool = nullptr;
  int64_t runId = 0;
  int32_t deviceOrdinal = 0;
  runtime::DeviceQueue *queue = nullptr; // null if the pointers are of host memory
};

/// Created once when a program is loaded. run() is called for each run of the program, possibly by
/// several threads at once.
class Call {
public:
  /// Instantiates the handler. Fails with the handler's error.
  static Result<std::unique_ptr<Call>> create(std::string target,
                                              const XLA_FFI_Handler_Bundle &handlers,
                                              const std::vector<artifact::Attribute> &attributes,
                                              std::vector<artifact::TensorType> operands,
                                              std::vector<artifact::TensorType> results);
  ~Call();

  /// Calls the handler and waits for it. Packs types of 2 and 4 bits, as XLA does, and transposes
  /// buffers to the layouts that the handler requires.
  Status run(std::span<const void *const> operands, std::span<void *const> results,
             const CallContext &context);

private:
  /// A buffer as the handler sees it.
  struct HandlerBuffer {
    artifact::TensorType type;
    std::vector<int64_t> order; // minor to major; empty if row-major
    bool needsCopy() const;
  };

  Call(std::string target, const XLA_FFI_Handler_Bundle &handlers,
       const std::vector<artifact::Attribute> &attributes, std::vector<HandlerBuffer> operands,
       std::vector<HandlerBuffer> results);
  static Result<std::vector<HandlerBuffer>>
  describeBuffers(std::vector<artifact::TensorType> types,
                  const std::vector<artifact::Attribute> &attributes, std::string_view layouts);
  Status runStage(XLA_FFI_Handler *handler, XLA_FFI_ExecutionStage stage,
                  XLA_FFI_ExecutionContext &context, std::span<void *const> operands,
                  std::span<void *const> results);

  const std::string target;
  const XLA_FFI_Handler_Bundle handlers;
  Attributes attributes;
  std::vector<HandlerBuffer> operandBuffers, resultBuffers;
  State instantiated;
};

/// The number of the type in the FFI (XLA's PrimitiveType).
XLA_FFI_DataType toDataType(numerics::ElementType type);

} // namespace tilewright::plugin::ffi

#endif // TILEWRIGHT_PLUGIN_FFI_CALL_H
