// CudaDevice: one GPU of the driver, with its context, queues and memory.
#ifndef TILEWRIGHT_RUNTIME_CUDA_CUDADEVICE_H
#define TILEWRIGHT_RUNTIME_CUDA_CUDADEVICE_H

#include "tilewright/runtime/Allocator.h"
#include "tilewright/runtime/cuda/CollectiveLane.h"
#include "tilewright/runtime/cuda/CudaQueue.h"
#include "tilewright/runtime/cuda/DriverApi.h"
#include "tilewright/runtime/cuda/Staging.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>

namespace tilewright::runtime::cuda {

/// The limits against which a program's kernels are checked at load time.
struct DeviceLimits {
  int threadsPerBlock = 0;
  int sharedBytes = 0; // per block, with opt-in
  bool hasClusters = false, hasTensorMaps = false;
  int multiprocessors = 0;
};

/// A device and its primary context, which it shares with all other users of CUDA in this process.
/// Lives at least as long as memory allocated from it.
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
  /// The client's name for the device: "cuda:0", or "rocm:0" for AMD.
  const std::string &text() const { return label; }
  /// "NVIDIA H100 80GB HBM3"
  const std::string &model() const { return modelName; }
  /// 90 for sm_90; for AMD, 95 for gfx950.
  int capability() const { return architecture; }
  /// "sm_90", "gfx950"
  const std::string &chip() const { return chipName; }
  const DeviceLimits &limits() const { return maxima; }

  /// Programs run in the first queue; the others are for copies, so that programs and copies do not
  /// wait for each other.
  CudaQueue &programs() { return queues[0]; }
  CudaQueue &uploads() { return queues[1]; }
  CudaQueue &downloads() { return queues[2]; }
  CudaQueue &peers() { return queues[3]; }
  /// The stream of collectives. Requires a previous call of createCollectives().
  CollectiveLane &collectives() { return *lane; }
  /// Makes the stream of collectives, unless it exists.
  Status createCollectives();
  /// The collective that the device executes now.
  std::optional<CollectiveUnderWay> collectiveUnderWay();
  Staging &staging() { return slots; }
  void drain();
  /// Stops the threads of all queues. No work can be submitted after this; memory that was
  /// allocated from the device stays valid.
  void stop();

  /// Like DriverApi::check; records a failure that makes the context unusable.
  Status check(CUresult result, const char *call);
  /// The status to report for work that did not complete because of `fatal`: `fatal` itself if
  /// `program` ("running 'f'") caused it, otherwise a status that says that the device is lost.
  /// `program` is null for work that is not a program and cannot have caused the failure.
  Status fail(Status fatal, const std::string *program);
  /// Fails if the device is lost.
  ///  - cudaLost (E5127): the message contains the cause.
  Status isUsable() const;

  /// Device memory from a separate pool, which `peers` can also access.
  Result<std::unique_ptr<RawMemory>> memory(std::span<const std::shared_ptr<CudaDevice>> peers);
  /// Host memory that all devices can access.
  std::unique_ptr<RawMemory> pinnedMemory();
  /// Free device memory in bytes.
  int64_t freeBytes();

  // The driver's functions, so that TILEWRIGHT_CUDA(device, …) can call them and record fatal
  // failures.
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
  std::string label, modelName, chipName;
  int architecture = 0;
  DeviceLimits maxima;
  std::atomic<bool> isLost = false;
  mutable std::mutex mutex;
  std::string howLost;   // guarded by mutex
  bool isBlamed = false; // guarded by mutex; whether howLost names a program
  Staging slots{*this};
  CudaQueue queues[4]{CudaQueue(*this), CudaQueue(*this), CudaQueue(*this), CudaQueue(*this)};
  std::unique_ptr<CollectiveLane> lane; // guarded by mutex until it is made
};

/// Makes the device's context current on this thread for the lifetime of this object.
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
