// Custom calls that are functions in Python: jax.pure_callback, io_callback, debug.print.
#ifndef TILEWRIGHT_PLUGIN_FFI_PYTHONCALLBACK_H
#define TILEWRIGHT_PLUGIN_FFI_PYTHONCALLBACK_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/plugin/ffi/Call.h"
#include "tilewright/support/Status.h"

#include <span>
#include <string_view>
#include <vector>

namespace tilewright::plugin::ffi {

/// "xla_ffi_python_cpu_callback" and its partitioned twin.
bool isPythonCallback(std::string_view target);

/// A function that JAX passes with each run: number `index` of a list of callables. jaxlib has a
/// handler for it, but gives out only one of its two stages, so this is ours. What NumPy does is
/// done in Python (tilewright/callbacks.py of the wheel).
class PythonCallback {
public:
  /// - callbackInvalid (E8021): no attribute `index`.
  static Result<PythonCallback> create(const std::vector<artifact::Attribute> &attributes,
                                       std::vector<artifact::TensorType> operands,
                                       std::vector<artifact::TensorType> results);

  /// Takes Python's lock, so the caller must hold none that Python code waits for.
  ///  - callbackInvalid (E8021): this process runs no Python, the wheel is not installed, or JAX
  ///    passed no such function.
  ///  - callbackFailed (E8022): the function raised; the message has its traceback.
  Status run(std::span<const void *const> operands, std::span<void *const> results,
             const CallContext &context) const;

private:
  uint64_t index = 0;
  std::vector<artifact::TensorType> operandTypes, resultTypes;
};

} // namespace tilewright::plugin::ffi

#endif // TILEWRIGHT_PLUGIN_FFI_PYTHONCALLBACK_H
