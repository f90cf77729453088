// CustomCall: the handlers of a program's custom calls.
#ifndef TILEWRIGHT_RUNTIME_CUSTOMCALL_H
#define TILEWRIGHT_RUNTIME_CUSTOMCALL_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/support/Status.h"
#include "tilewright/support/ThreadPool.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace tilewright::runtime {

class Device;

/// A custom call of the plan. Lives as long as the program.
struct CustomCallSite {
  const artifact::CustomCallStep *step = nullptr;
  std::span<const artifact::TensorType> operands, results;
};

/// The stream and the memory of a device, for a handler that queues work on it.
class DeviceQueue {
public:
  virtual ~DeviceQueue() = default;
  /// The driver's handle of the stream in which the steps before and after the call run: a
  /// CUstream.
  virtual void *stream() const = 0;
  /// Memory of the device, which stays valid until all work of this run has ended.
  virtual Result<std::byte *> allocate(size_t bytes) = 0;
};

/// One call. The values other than the pointers are for the handler; the program does not use them.
struct CustomCallRun {
  std::span<const std::byte *const> operands;
  std::span<std::byte *const> results;
  ThreadPool &pool;
  int64_t runId = 0;
  const Device *device = nullptr;
  void *userContext = nullptr;  // of the caller of execute
  DeviceQueue *queue = nullptr; // null unless takesDeviceMemory()
};

/// A handler bound to one call. Concurrent runs of the program call it concurrently.
class CustomCall {
public:
  virtual ~CustomCall() = default;
  /// Whether run() gets pointers to device memory: the handler then queues its work in order with
  /// the other steps. Otherwise it gets pointers to host memory, and must have written the results
  /// when it returns. On a device that computes in host memory there is no difference.
  virtual bool takesDeviceMemory() const { return false; }
  virtual Status run(const CustomCallRun &run) const = 0;
};

/// Finds handlers when a program is loaded.
class CustomCallResolver {
public:
  virtual ~CustomCallResolver() = default;
  /// Null if no handler has this name. Fails if the handler rejects its configuration.
  virtual Result<std::unique_ptr<CustomCall>> prepare(const CustomCallSite &site) = 0;
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_CUSTOMCALL_H
