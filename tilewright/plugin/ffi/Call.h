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

/// Attributes that are not the handler's: how it wants its buffers to lie. One list of int64, the
/// minor-to-major orders of all operands (results) one after the other, as in the operand_layouts
/// of stablehlo.custom_call; without it, all are row-major. LAPACK wants columns.
inline constexpr std::string_view operandLayouts = "tilewright.operand_layouts";
inline constexpr std::string_view resultLayouts = "tilewright.result_layouts";

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

  /// Calls the handler and waits for it. Types of 2 and 4 bits are packed for it, as XLA does, and
  /// buffers are brought into the order that it wants.
  Status run(std::span<const void *const> operands, std::span<void *const> results,
             const CallContext &context);

private:
  /// A buffer as the handler sees it.
  struct Side {
    artifact::TensorType type;
    std::vector<int64_t> order; // minor to major; empty if row-major
    bool needsCopy() const;
  };

  Call(std::string target, const XLA_FFI_Handler_Bundle &handlers,
       const std::vector<artifact::Attribute> &attributes, std::vector<Side> operands,
       std::vector<Side> results);
  static Result<std::vector<Side>> sidesOf(std::vector<artifact::TensorType> types,
                                           const std::vector<artifact::Attribute> &attributes,
                                           std::string_view layouts);
  Status runStage(XLA_FFI_Handler *handler, XLA_FFI_ExecutionStage stage,
                  XLA_FFI_ExecutionContext &context, std::span<void *const> operands,
                  std::span<void *const> results);

  const std::string target;
  const XLA_FFI_Handler_Bundle handlers;
  Attributes attributes;
  std::vector<Side> operandSides, resultSides;
  State instantiated;
};

/// PrimitiveType, as the FFI numbers it.
XLA_FFI_DataType toDataType(numerics::ElementType type);

} // namespace tilewright::plugin::ffi

#endif // TILEWRIGHT_PLUGIN_FFI_CALL_H
