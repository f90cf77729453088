#include "tilewright/runtime/cuda/DriverApi.h"
#include "tilewright/support/Concat.h"

#include <dlfcn.h>
#include <mutex>

namespace tilewright::runtime::cuda {

/// The CUDA version that introduced a function, by exported name.
namespace introduced {
#define TILEWRIGHT_CUDA_FUNCTION(name, suffix, since, stream, parameters, arguments)               \
  constexpr int name##suffix = since;
#include "tilewright/cuda-api/Functions.def"
#undef TILEWRIGHT_CUDA_FUNCTION
} // namespace introduced

static std::string versionText(int version) {
  return concat(version / 1000, ".", version % 1000 / 10);
}

static Status tooOld(const std::string &library, const char *function, int version) {
  return Status(Error::cudaFunction,
                concat("the CUDA driver ", library, " lacks ", function, " of CUDA ",
                       versionText(version),
                       "; install a driver for CUDA 12.0 or later (525 or later), or use the "
                       "virtual GPU: TILEWRIGHT_TARGET=vgpu:sm_90a"));
}

Result<std::shared_ptr<DriverApi>> DriverApi::find(const Lookup &lookup,
                                                   const std::string &library) {
  auto api = std::make_shared<DriverApi>();
  api->path = library;
#define CUDA_FUNCTION(function, suffix)                                                            \
  api->function = reinterpret_cast<signature::function##suffix *>(                                 \
      lookup(#function, introduced::function##suffix));                                            \
  if (!api->function)                                                                              \
    return tooOld(library, #function, introduced::function##suffix);
#define CUDA_OPTIONAL(function, suffix)                                                            \
  api->function = reinterpret_cast<signature::function##suffix *>(                                 \
      lookup(#function, introduced::function##suffix));
#include "tilewright/runtime/cuda/Functions.def"
  return api;
}

static Result<std::shared_ptr<DriverApi>> open(const std::string &path) {
  const std::string library = path.empty() ? "libcuda.so.1" : path;
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return Status(Error::cudaLibrary,
                  concat("cannot load the CUDA driver library: ", dlerror(),
                         "; install NVIDIA's driver, name the library in TILEWRIGHT_CUDA_LIBRARY, "
                         "or use the virtual GPU: TILEWRIGHT_TARGET=vgpu:sm_90a"));
  // Look up every function in the version whose types we declare: a plain symbol has different
  // versions in different drivers.
  auto *second =
      reinterpret_cast<signature::cuGetProcAddress_v2 *>(dlsym(handle, "cuGetProcAddress_v2"));
  auto *first = reinterpret_cast<signature::cuGetProcAddress *>(dlsym(handle, "cuGetProcAddress"));
  if (!second && !first) {
    const bool isDriver = dlsym(handle, "cuInit");
    dlclose(handle);
    if (isDriver)
      return tooOld(library, "cuGetProcAddress", 11030);
    return Status(Error::cudaLibrary,
                  concat(library, " is not a CUDA driver: it lacks cuInit; name another library in "
                                  "TILEWRIGHT_CUDA_LIBRARY"));
  }
  return DriverApi::find(
      [&](const char *name, int version) -> void * {
        void *function = nullptr;
        CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
        const CUresult result =
            second ? second(name, &function, version, CU_GET_PROC_ADDRESS_DEFAULT, &found)
                   : first(name, &function, version, CU_GET_PROC_ADDRESS_DEFAULT);
        return result == CUDA_SUCCESS ? function : nullptr;
      },
      library);
}

Result<std::shared_ptr<const DriverApi>> DriverApi::load(const std::string &path) {
  static std::mutex mutex;
  static std::shared_ptr<const DriverApi> ofProcess; // guarded by mutex
  const std::string wanted = path.empty() ? "libcuda.so.1" : path;
  std::lock_guard lock(mutex);
  if (ofProcess) {
    if (ofProcess->path != wanted)
      return Status(Error::cudaLibrary,
                    concat("cannot use the CUDA driver ", wanted, ": this process already uses ",
                           ofProcess->path, "; start another process"));
    return ofProcess;
  }
  TILEWRIGHT_ASSIGN(std::shared_ptr<DriverApi> api, open(path));
  if (CUresult result = api->cuInit(0); result != CUDA_SUCCESS)
    return Status(Error::cudaLibrary,
                  concat("cannot initialize the CUDA driver ", wanted,
                         ": cuInit: ", api->describe(result),
                         // Only the virtual GPU reads settings in cuInit, and it prints the reason.
                         result == CUDA_ERROR_INVALID_VALUE
                             ? "; correct the setting that the virtual GPU names above; its chips "
                               "are those of `tilewright vgpu run --help`"
                             : "; check that a GPU is visible (nvidia-smi, CUDA_VISIBLE_DEVICES), "
                               "or use the virtual GPU: TILEWRIGHT_TARGET=vgpu:sm_90a"));
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuDriverGetVersion, &api->driverVersion));
  ofProcess = std::move(api);
  return ofProcess;
}

std::string DriverApi::describe(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    name = "unknown error";
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS || !text)
    text = "the driver has no description of it";
  return concat(name, " (", static_cast<int>(result), "): ", text);
}

bool DriverApi::isFatal(CUresult result) {
  switch (result) {
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_LAUNCH_FAILED:
  case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    return true;
  default:
    return false;
  }
}

Status DriverApi::check(CUresult result, const char *call) const {
  if (result == CUDA_SUCCESS)
    return Status();
  if (isFatal(result))
    return Status(
        Error::cudaKernelFailed,
        concat("a kernel failed, reported by ", call, ": ", describe(result),
               "; run the program on the virtual GPU (TILEWRIGHT_TARGET=vgpu:…, "
               "TILEWRIGHT_VGPU_CHECK=all) or under compute-sanitizer to find the cause"));
  const char *advice = result == CUDA_ERROR_OUT_OF_MEMORY
                           ? "other processes may use the device (nvidia-smi); free buffers or "
                             "lower runtime.memory-limit"
                           : "if it persists, report it with the program and the driver's version";
  return Status(Error::cudaCall, concat(call, ": ", describe(result), "; ", advice));
}

} // namespace tilewright::runtime::cuda
