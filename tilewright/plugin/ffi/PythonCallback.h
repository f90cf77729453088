// Custom calls that call Python functions: jax.pure_callback, io_callback, debug.print.
#ifndef TILEWRIGHT_PLUGIN_FFI_PYTHONCALLBACK_H
#define TILEWRIGHT_PLUGIN_FFI_PYTHONCALLBACK_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/plugin/ffi/Call.h"
#include "tilewright/support/Status.h"

#include <span>
#include <string_view>
#include <vector>

namespace tilewright::plugin::ffi {

/// "xla_ffi_python_cpu_callback", its partitioned variant, and what JAX calls them in programs that
/// are lowered for CUDA.
bool isPythonCallback(std::string_view target);

/// A Python function that JAX passes with each run: number `index` of a list of callables. jaxlib
/// has a handler for it, but exports only one of its two stages, so we implement it. The parts that
/// need NumPy are written in Python (tilewright/callbacks.py of the wheel).
class PythonCallback {
public:
  /// - callbackInvalid (E8021): the attribute `index` is missing.
  static Result<PythonCallback> create(const std::vector<artifact::Attribute> &attributes,
                                       std::vector<artifact::TensorType> operands,
                                       std::vector<artifact::TensorType> results);

  /// Acquires the GIL, so the caller must not hold a lock that Python code waits for.
  ///  - callbackInvalid (E8021): Python is not initialised in this process, the wheel is not
  ///    installed, or JAX did not pass the function.
  ///  - callbackFailed (E8022): the function raised an exception; the message contains its
  ///    traceback.
  Status run(std::span<const void *const> operands, std::span<void *const> results,
             const CallContext &context) const;

private:
  uint64_t index = 0;
  std::vector<artifact::TensorType> operandTypes, resultTypes;
};

} // namespace tilewright::plugin::ffi

#endif // TILEWRIGHT_PLUGIN_FFI_PYTHONCALLBACK_H
