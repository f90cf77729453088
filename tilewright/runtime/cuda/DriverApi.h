// DriverApi: the functions of the CUDA driver, found when they are needed.
#ifndef TILEWRIGHT_RUNTIME_CUDA_DRIVERAPI_H
#define TILEWRIGHT_RUNTIME_CUDA_DRIVERAPI_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/driver/CudaTypes.h"
#include "tilewright/vgpu/driver/GraphTypes.h"

#include <functional>
#include <memory>
#include <string>

namespace tilewright::runtime::cuda {

// The names, values and layouts of the API are written down once, for the driver that we have
// ourselves, and compared with CUDA's headers there.
using namespace vgpu::driver;

/// The types of functions, by exported name.
namespace signature {
#define VGPU_FUNCTION(name, suffix, since, stream, parameters, arguments)                          \
  using name##suffix = CUresult parameters;
#include "tilewright/vgpu/driver/Functions.def"
#undef VGPU_FUNCTION
} // namespace signature

/// The functions of one driver library, callable by their names: `api.cuInit(0)`.
///
/// A process has one driver, whichever was loaded first: libraries of the same
/// name would find each other's functions. It is never unloaded.
class DriverApi {
public:
#define CUDA_FUNCTION(name, suffix) signature::name##suffix *name = nullptr;
#include "tilewright/runtime/cuda/Functions.def"

  /// Loads the library at `path`, or the system's libcuda.so.1 if that is empty, and starts it.
  ///  - cudaLibrary (E5120): it cannot be loaded or started, or the process has another one.
  ///  - cudaFunction (E5121): the driver is too old.
  static Result<std::shared_ptr<const DriverApi>> load(const std::string &path);

  /// Where a function of a name and version (12030 for CUDA 12.3) is; null if there is none.
  using Lookup = std::function<void *(const char *name, int version)>;
  /// Fills the table. For tests; `library` is what messages call the driver.
  static Result<std::shared_ptr<DriverApi>> find(const Lookup &lookup, const std::string &library);

  const std::string &library() const { return path; }
  int version() const { return driverVersion; } // 12030

  /// What a call that ended in `result` says to a person: the call, CUDA's name and text for it,
  /// and what to do. Success for CUDA_SUCCESS.
  Status check(CUresult result, const char *call) const;
  /// "CUDA_ERROR_LAUNCH_FAILED (719): a kernel failed"
  std::string describe(CUresult result) const;

  /// After one of these the context is of no use any more.
  static bool isFatal(CUresult result);

private:
  std::string path;
  int driverVersion = 0;
};

/// api.check(api.cuInit(0), "cuInit"), without saying it twice.
#define TILEWRIGHT_CUDA(api, function, ...) (api).check((api).function(__VA_ARGS__), #function)

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_DRIVERAPI_H
