#include "tilewright/runtime/cuda/DriverApi.h"
#include "tilewright/runtime/hip/HipDriver.h"
#include "tilewright/support/Concat.h"

#include <dlfcn.h>
#include <mutex>
#include <span>
#include <vector>

namespace tilewright::runtime::cuda {

/// The CUDA version that introduced a function, by exported name.
namespace introduced {
#define TILEWRIGHT_CUDA_FUNCTION(name, suffix, since, stream, parameters, arguments)               \
  constexpr int name##suffix = since;
#include "tilewright/cuda-api/Functions.def"
#undef TILEWRIGHT_CUDA_FUNCTION
} // namespace introduced

const DriverWords &wordsOf(Vendor vendor) {
  static constexpr DriverWords nvidia = {"cuda",
                                         "CUDA driver",
                                         "libcuda.so.1",
                                         "TILEWRIGHT_CUDA_LIBRARY",
                                         "NVIDIA's driver",
                                         "nvidia-smi, CUDA_VISIBLE_DEVICES",
                                         "sm_90a"};
  static constexpr DriverWords amd = {"rocm",
                                      "HIP driver",
                                      "libamdhip64.so.7",
                                      "TILEWRIGHT_HIP_LIBRARY",
                                      "ROCm 6.0 or later",
                                      "rocminfo, HIP_VISIBLE_DEVICES",
                                      "gfx950"};
  return vendor == Vendor::amd ? amd : nvidia;
}

static std::string versionText(int version) {
  return concat(version / 1000, ".", version % 1000 / 10);
}

std::string DriverApi::versionText() const {
  if (isAmd())
    return concat(driverVersion / 10000000, ".", driverVersion / 100000 % 100);
  return cuda::versionText(driverVersion);
}

static Status tooOld(const std::string &library, const char *function, int version) {
  return Status(Error::cudaFunction,
                concat("the CUDA driver ", library, " lacks ", function, " of CUDA ",
                       versionText(version),
                       "; install a driver for CUDA 12.0 or later (525 or later), or use the "
                       "virtual GPU: TILEWRIGHT_TARGET=vgpu:sm_90a"));
}

Result<std::shared_ptr<DriverApi>> DriverApi::find(const Lookup &lookup, const std::string &library,
                                                   Vendor vendor) {
  auto api = std::make_shared<DriverApi>();
  api->path = library;
  api->maker = vendor;
  if (vendor == Vendor::amd) {
    TILEWRIGHT_TRY(hip::fill(*api, [&](const char *name) { return lookup(name, 0); }));
    return api;
  }
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

/// Fails with the reason for the first of `files` if none can be loaded.
static Result<void *> openLibrary(std::span<const std::string> files, const DriverWords &words) {
  std::string why;
  for (const std::string &file : files) {
    if (void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL))
      return handle;
    if (why.empty())
      why = dlerror();
  }
  return Status(Error::cudaLibrary,
                concat("cannot load the ", words.driver, " library: ", why, "; install ",
                       words.package, ", name the library in ", words.variable,
                       ", or use the virtual GPU: TILEWRIGHT_TARGET=vgpu:", words.exampleChip));
}

static Status notADriver(const std::string &library, const DriverWords &words, const char *lacks) {
  return Status(Error::cudaLibrary, concat(library, " is not a ", words.driver, ": it lacks ",
                                           lacks, "; name another library in ", words.variable));
}

static Result<std::shared_ptr<DriverApi>> openHip(const std::string &path) {
  const DriverWords &words = wordsOf(Vendor::amd);
  // HIP 6 has the same functions. ROCm is often not on the linker's search path.
  const std::vector<std::string> files =
      path.empty() ? std::vector<std::string>{words.library, "libamdhip64.so.6",
                                              "/opt/rocm/lib/libamdhip64.so"}
                   : std::vector<std::string>{path};
  TILEWRIGHT_ASSIGN(void *handle, openLibrary(files, words));
  const std::string library = path.empty() ? words.library : path;
  if (!dlsym(handle, "hipInit")) {
    dlclose(handle);
    return notADriver(library, words, "hipInit");
  }
  return DriverApi::find([&](const char *name, int) { return dlsym(handle, name); }, library,
                         Vendor::amd);
}

static Result<std::shared_ptr<DriverApi>> open(const std::string &path) {
  const DriverWords &words = wordsOf(Vendor::nvidia);
  const std::string library = path.empty() ? words.library : path;
  TILEWRIGHT_ASSIGN(void *handle, openLibrary({&library, 1}, words));
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
    return notADriver(library, words, "cuInit");
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

Result<std::shared_ptr<const DriverApi>> DriverApi::load(const std::string &path, Vendor vendor) {
  static std::mutex mutex;
  static std::shared_ptr<const DriverApi> ofProcess; // guarded by mutex
  const DriverWords &words = wordsOf(vendor);
  const std::string wanted = path.empty() ? words.library : path;
  std::lock_guard lock(mutex);
  if (ofProcess) {
    if (ofProcess->path != wanted)
      return Status(Error::cudaLibrary, concat("cannot use the ", words.driver, " ", wanted,
                                               ": this process already uses ", ofProcess->path,
                                               "; start another process"));
    return ofProcess;
  }
  TILEWRIGHT_ASSIGN(std::shared_ptr<DriverApi> api,
                    vendor == Vendor::amd ? openHip(path) : open(path));
  if (CUresult result = api->cuInit(0); result != CUDA_SUCCESS)
    return Status(
        Error::cudaLibrary,
        concat(
            "cannot initialize the ", words.driver, " ", wanted, ": ",
            api->isAmd() ? hip::nameOf("cuInit") : "cuInit", ": ", api->describe(result),
            // Only the virtual GPU reads settings here, and it prints the reason.
            result == CUDA_ERROR_INVALID_VALUE
                ? "; correct the setting that the virtual GPU names above; its chips "
                  "are those of `tilewright vgpu run --help`"
                : concat("; check that a GPU is visible (", words.visible,
                         "), or use the virtual GPU: TILEWRIGHT_TARGET=vgpu:", words.exampleChip)));
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
  if (isAmd())
    call = hip::nameOf(call);
  if (isFatal(result))
    return Status(Error::cudaKernelFailed,
                  concat("a kernel failed, reported by ", call, ": ", describe(result),
                         "; run the program on the virtual GPU (TILEWRIGHT_TARGET=vgpu:…, "
                         "TILEWRIGHT_VGPU_CHECK=all)",
                         isAmd() ? "" : " or under compute-sanitizer", " to find the cause"));
  const std::string advice =
      result == CUDA_ERROR_OUT_OF_MEMORY
          ? concat("other processes may use the device (", isAmd() ? "rocm-smi" : "nvidia-smi",
                   "); free buffers or lower runtime.memory-limit")
          : "if it persists, report it with the program and the driver's version";
  return Status(Error::cudaCall, concat(call, ": ", describe(result), "; ", advice));
}

} // namespace tilewright::runtime::cuda
