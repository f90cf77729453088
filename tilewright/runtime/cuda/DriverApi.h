// DriverApi: the functions of a GPU's driver, loaded at run time.
#ifndef TILEWRIGHT_RUNTIME_CUDA_DRIVERAPI_H
#define TILEWRIGHT_RUNTIME_CUDA_DRIVERAPI_H

#include "tilewright/cuda-api/CudaTypes.h"
#include "tilewright/cuda-api/GraphTypes.h"
#include "tilewright/support/Status.h"
#include "tilewright/support/TargetName.h"

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

using Vendor = TargetName::Vendor;

/// The names of a vendor's driver and its parts, for messages.
struct DriverWords {
  const char *platform; // "cuda", also the kind of the devices
  const char *driver;   // "CUDA driver"
  const char *library;  // "libcuda.so.1"
  const char *variable; // that names another library
  const char *package;  // that contains the library
  const char *visible;  // where to look for devices
  const char *exampleChip;
};
const DriverWords &wordsOf(Vendor vendor);

/// The functions of one driver library, callable by their CUDA names: `api.cuInit(0)`. For AMD GPUs
/// the table has equivalent functions that call HIP (runtime/hip).
///
/// A process has only one driver, the first that was loaded: symbols of two libraries of the same
/// name would resolve to each other. It is never unloaded.
class DriverApi {
public:
#define CUDA_FUNCTION(name, suffix) signature::name##suffix *name = nullptr;
#include "tilewright/runtime/cuda/Functions.def"

  /// Loads the library at `path`, or the system's libcuda.so.1 or libamdhip64 if `path` is empty,
  /// and initialises it.
  ///  - cudaLibrary (E5120): it cannot be loaded or initialised, or the process has loaded another
  ///    driver.
  ///  - cudaFunction (E5121): the driver is too old.
  static Result<std::shared_ptr<const DriverApi>> load(const std::string &path,
                                                       Vendor vendor = Vendor::nvidia);

  /// Returns the address of a function by name and version (12030 for CUDA 12.3); null if it does
  /// not exist.
  using Lookup = std::function<void *(const char *name, int version)>;
  /// Looks up all functions. Public for tests; messages name the driver `library`.
  static Result<std::shared_ptr<DriverApi>> find(const Lookup &lookup, const std::string &library,
                                                 Vendor vendor = Vendor::nvidia);

  const std::string &library() const { return path; }
  Vendor vendor() const { return maker; }
  bool isAmd() const { return maker == Vendor::amd; }
  const DriverWords &words() const { return wordsOf(maker); }
  std::string versionText() const; // "12.3", "7.1"

  /// The status of a call that returned `result`. The message contains the call, the driver's name
  /// and description of the error, and what to do.
  Status check(CUresult result, const char *call) const;
  /// "CUDA_ERROR_LAUNCH_FAILED (719): unspecified launch failure"
  std::string describe(CUresult result) const;

  /// Whether the context is unusable after this error.
  static bool isFatal(CUresult result);

private:
  std::string path;
  Vendor maker = Vendor::nvidia;
  int driverVersion = 0; // 12030; of HIP 70100000
};

/// Short for api.check(api.cuInit(0), "cuInit").
#define TILEWRIGHT_CUDA(api, function, ...) (api).check((api).function(__VA_ARGS__), #function)

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_DRIVERAPI_H
