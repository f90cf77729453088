// DriverApi: the functions of the CUDA driver, loaded at run time.
#ifndef TILEWRIGHT_RUNTIME_CUDA_DRIVERAPI_H
#define TILEWRIGHT_RUNTIME_CUDA_DRIVERAPI_H

#include "tilewright/cuda-api/CudaTypes.h"
#include "tilewright/cuda-api/GraphTypes.h"
#include "tilewright/support/Status.h"

#include <functional>
#include <memory>
#include <string>

namespace tilewright::runtime::cuda {

// The names, values and layouts of the API are declared once, in cuda-api, where a test compares
// them with CUDA's headers.
using namespace cuda_api;

/// The function types, by exported name.
namespace signature {
#define TILEWRIGHT_CUDA_FUNCTION(name, suffix, since, stream, parameters, arguments)               \
  using name##suffix = CUresult parameters;
#include "tilewright/cuda-api/Functions.def"
#undef TILEWRIGHT_CUDA_FUNCTION
} // namespace signature

/// The functions of one driver library, callable by their names: `api.cuInit(0)`.
///
/// A process has only one driver, the first that was loaded: symbols of two libraries of the same
/// name would resolve to each other. It is never unloaded.
class DriverApi {
public:
#define CUDA_FUNCTION(name, suffix) signature::name##suffix *name = nullptr;
#include "tilewright/runtime/cuda/Functions.def"

  /// Loads the library at `path`, or the system's libcuda.so.1 if `path` is empty, and initialises
  /// it.
  ///  - cudaLibrary (E5120): it cannot be loaded or initialised, or the process has loaded another
  ///    driver.
  ///  - cudaFunction (E5121): the driver is too old.
  static Result<std::shared_ptr<const DriverApi>> load(const std::string &path);

  /// Returns the address of a function by name and version (12030 for CUDA 12.3); null if it does
  /// not exist.
  using Lookup = std::function<void *(const char *name, int version)>;
  /// Looks up all functions. Public for tests; messages name the driver `library`.
  static Result<std::shared_ptr<DriverApi>> find(const Lookup &lookup, const std::string &library);

  const std::string &library() const { return path; }
  int version() const { return driverVersion; } // 12030

  /// The status of a call that returned `result`. The message contains the call, CUDA's name and
  /// description of the error, and what to do.
  Status check(CUresult result, const char *call) const;
  /// "CUDA_ERROR_LAUNCH_FAILED (719): unspecified launch failure"
  std::string describe(CUresult result) const;

  /// Whether the context is unusable after this error.
  static bool isFatal(CUresult result);

private:
  std::string path;
  int driverVersion = 0;
};

/// Short for api.check(api.cuInit(0), "cuInit").
#define TILEWRIGHT_CUDA(api, function, ...) (api).check((api).function(__VA_ARGS__), #function)

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_DRIVERAPI_H
