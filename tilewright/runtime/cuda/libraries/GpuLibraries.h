// GpuLibraries: the libraries that may compute products of programs, and the choice between them.
#ifndef TILEWRIGHT_RUNTIME_CUDA_LIBRARIES_GPULIBRARIES_H
#define TILEWRIGHT_RUNTIME_CUDA_LIBRARIES_GPULIBRARIES_H

#include "tilewright/runtime/cuda/CudaDevice.h"
#include "tilewright/runtime/cuda/libraries/LibraryEngine.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tilewright::runtime::cuda::libraries {

/// The values of the variable TILEWRIGHT_GPU_LIBRARIES.
enum class Use : uint8_t {
  off,   // only kernels of programs
  on,    // libraries; the first run of each product is compared with the program's kernel
  check, // libraries; every run is compared, and a difference is a failure
};

/// The library that computes a product on a device.
struct Choice {
  std::unique_ptr<LibraryPlan> plan; // null if no library does
  std::string engine;                // "cuBLASLt 13.1.0"
  std::vector<std::string> refusals; // of libraries that were asked before it, with the reasons
};

/// The libraries of a client. Thread-safe.
class GpuLibraries {
public:
  /// Reads TILEWRIGHT_GPU_LIBRARIES, and TILEWRIGHT_CUBLASLT_LIBRARY and TILEWRIGHT_CUDNN_LIBRARY,
  /// which name files. Otherwise libraries beside the driver (those of a virtual driver) are
  /// preferred to the system's. Nothing is loaded before a program needs it.
  ///  - optionValue (E0002): a variable has another value.
  static Result<std::shared_ptr<GpuLibraries>> fromEnvironment(const DriverApi &api);
  ~GpuLibraries();

  Use use() const { return wanted; }
  /// Asks the libraries one after the other. Never fails: the program also has a kernel.
  Choice choose(const std::shared_ptr<CudaDevice> &device, const artifact::ScaledProduct &product);

  /// Reports once, on standard error, why a library did not compute a product.
  static void say(const std::string &step, const std::string &reason);

private:
  GpuLibraries() = default;
  /// The engine of a library on a device, connected on first use.
  Result<LibraryEngine *> engineOf(Library library, const std::shared_ptr<CudaDevice> &device);

  Use wanted = Use::off;
  std::map<Library, std::vector<std::string>> files; // names to try, in order
  std::mutex mutex;
  struct Connected {
    std::unique_ptr<LibraryEngine> engine;
    std::string problem;                // if there is no engine
    std::shared_ptr<CudaDevice> device; // the engine needs its context until it ends
  };
  std::map<std::pair<Library, const CudaDevice *>, Connected> engines; // guarded by mutex
};

} // namespace tilewright::runtime::cuda::libraries

#endif // TILEWRIGHT_RUNTIME_CUDA_LIBRARIES_GPULIBRARIES_H
