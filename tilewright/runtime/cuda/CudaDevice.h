// CudaDevice: one GPU of the driver, with its context, queues and memory.
#ifndef TILEWRIGHT_RUNTIME_CUDA_CUDADEVICE_H
#define TILEWRIGHT_RUNTIME_CUDA_CUDADEVICE_H

#include "tilewright/runtime/Allocator.h"
#include "tilewright/runtime/cuda/CudaQueue.h"
#include "tilewright/runtime/cuda/DriverApi.h"
#include "tilewright/runtime/cuda/Staging.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>

namespace tilewright::runtime::cuda {

/// What kernels are held against when a program is loaded.
struct DeviceLimits {
  int threadsPerBlock = 0;
  int sharedBytes = 0; // of a block that asks for more than is usual
  bool hasClusters = false, hasTensorMaps = false;
  int multiprocessors = 0;
};

/// A device and its primary context, which it shares with whoever else uses CUDA
/// in this process. Lives as long as memory of it does.
///
/// Thread-safe.
class CudaDevice : public std::enable_shared_from_this<CudaDevice> {
public:
  ///  - cudaCall (E5122)
  static Result<std::shared_ptr<CudaDevice>> open(std::shared_ptr<const DriverApi> api, int ordinal,
                                                  size_t localId, size_t maxInFlight);
  ~CudaDevice();

  const DriverApi &api() const { return *driver; }
  int ordinal() const { return number; }
  CUdevice handle() const { return device; }
  CUcontext context() const { return primary; }
  /// "cuda:0", as the client calls it.
  const std::string &text() const { return label; }
  /// "NVIDIA H100 80GB HBM3"
  const std::string &model() const { return modelName; }
  /// 90 for sm_90
  int capability() const { return architecture; }
  const DeviceLimits &limits() const { return maxima; }

  /// Programs run in the first; the others are for copies, so that neither waits for the other.
  CudaQueue &programs() { return queues[0]; }
  CudaQueue &uploads() { return queues[1]; }
  CudaQueue &downloads() { return queues[2]; }
  CudaQueue &peers() { return queues[3]; }
  Staging &staging() { return slots; }
  void drain();
  /// Ends the threads. Only memory may be used afterwards.
  void stop();

  /// Like DriverApi::check; a failure that makes the context useless is remembered.
  Status check(CUresult result, const char *call);
  /// What to say of work that did not end, because of `fatal`: that, if it was `program` that
  /// failed
  /// ("running 'f'"), and else that the device is lost. Null: it was no program, so it is not to
  /// blame.
  Status fail(Status fatal, const std::string *program);
  /// - cudaLost (E5127): how the device failed.
  Status isUsable() const;

  /// Memory of the device, from a pool of its own that `peers` may access too.
  Result<std::unique_ptr<RawMemory>> memory(std::span<const std::shared_ptr<CudaDevice>> peers);
  /// Memory of the host that all devices can reach.
  std::unique_ptr<RawMemory> pinnedMemory();
  /// Bytes that nobody uses now.
  int64_t freeBytes();

  // For TILEWRIGHT_CUDA(device, …): calls whose failure is remembered.
#define CUDA_FUNCTION(name, suffix)                                                                \
  template <typename... Arguments> CUresult name(Arguments... arguments) {                         \
    return driver->name(arguments...);                                                             \
  }
#include "tilewright/runtime/cuda/Functions.def"

private:
  explicit CudaDevice(std::shared_ptr<const DriverApi> api) : driver(std::move(api)) {}
  Status start(size_t maxInFlight);
  Result<int> attribute(CUdevice_attribute which);

  const std::shared_ptr<const DriverApi> driver;
  int number = 0;
  CUdevice device = 0;
  CUcontext primary = nullptr;
  std::string label, modelName;
  int architecture = 0;
  DeviceLimits maxima;
  std::atomic<bool> isLost = false;
  mutable std::mutex mutex;
  std::string howLost;   // guarded by mutex
  bool isBlamed = false; // guarded by mutex; howLost names a program
  Staging slots{*this};
  CudaQueue queues[4]{CudaQueue(*this), CudaQueue(*this), CudaQueue(*this), CudaQueue(*this)};
};

/// The device's context is current on this thread while it lives.
class ContextScope {
public:
  explicit ContextScope(const CudaDevice &device) : api(device.api()) {
    isPushed = api.cuCtxPushCurrent(device.context()) == CUDA_SUCCESS;
  }
  ~ContextScope() {
    CUcontext popped = nullptr;
    if (isPushed)
      api.cuCtxPopCurrent(&popped);
  }
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

private:
  const DriverApi &api;
  bool isPushed = false;
};

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_CUDADEVICE_H
