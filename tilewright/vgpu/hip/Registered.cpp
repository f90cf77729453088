// Kernels and variables that are compiled into a program: the functions that clang's host code
// calls before main() and for `kernel<<<grid, block>>>(…)`.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/module/Module.h"
#include "tilewright/vgpu/hip/Calls.h"

#include <map>
#include <string>

namespace tilewright::vgpu::hip {

namespace {
/// The bundle of a translation unit. It is loaded on a device when the device first needs it.
struct FatBinary {
  const void *image = nullptr;
  std::map<int, CUmodule> modules; // by device
};

/// A kernel or a variable of a bundle.
struct Entry {
  FatBinary *binary = nullptr;
  std::string name;
};

struct Registry {
  std::mutex mutex;
  // The members below are guarded by mutex.
  std::map<FatBinary *, std::unique_ptr<FatBinary>> binaries;
  std::map<const void *, Entry> kernels, variables; // by address on the host
};

/// A launch between `<<<…>>>` and the call of the kernel's stub.
struct CallConfiguration {
  dim3 grid, block;
  size_t lds = 0;
  CUstream stream = nullptr;
};
} // namespace

static Registry &registry() {
  static auto &only = *new Registry(); // used before main() and after it
  return only;
}

static thread_local std::vector<CallConfiguration> configurations;

/// The module of a bundle on the current device. The registry's mutex is held.
static CUresult moduleOf(FatBinary &binary, CUmodule &module) {
  const int device = currentDevice();
  auto found = binary.modules.find(device);
  // Resetting the device unloads its modules.
  if (found != binary.modules.end() && driver::Driver::get().modules.find(found->second)) {
    module = found->second;
    return CUDA_SUCCESS;
  }
  VGPU_TRY(loadData(&module, binary.image, 0, nullptr, nullptr));
  binary.modules[device] = module;
  return CUDA_SUCCESS;
}

CUresult functionOf(const void *kernel, CUfunction &function) {
  Registry &all = registry();
  std::lock_guard lock(all.mutex);
  const auto found = all.kernels.find(kernel);
  if (found == all.kernels.end())
    return fail(result(hipErrorInvalidDeviceFunction),
                "the function is not a __global__ function of the program");
  CUmodule module = nullptr;
  VGPU_TRY(moduleOf(*found->second.binary, module));
  return api::cuModuleGetFunction(&function, module, found->second.name.c_str());
}

CUresult addressOf(const void *variable, CUdeviceptr &address, size_t &bytes) {
  Registry &all = registry();
  std::lock_guard lock(all.mutex);
  const auto found = all.variables.find(variable);
  if (found == all.variables.end())
    return fail(result(hipErrorInvalidSymbol),
                "the symbol is not a __device__ or __constant__ variable of the program");
  CUmodule module = nullptr;
  VGPU_TRY(moduleOf(*found->second.binary, module));
  return api::cuModuleGetGlobal(&address, &bytes, module, found->second.name.c_str());
}

} // namespace tilewright::vgpu::hip

using namespace tilewright::vgpu::hip;

// clang-format off
#define HIP_EXPORTED extern "C" __attribute__((visibility("default")))
// clang-format on

/// `wrapper` is the structure that clang emits into the section .hipFatBinSegment.
HIP_EXPORTED void **__hipRegisterFatBinary(const void *wrapper) {
  struct Wrapper {
    uint32_t magic, version;
    const void *image, *unused;
  };
  auto binary = std::make_unique<FatBinary>();
  binary->image = static_cast<const Wrapper *>(wrapper)->image;
  FatBinary *handle = binary.get();
  Registry &all = registry();
  std::lock_guard lock(all.mutex);
  all.binaries.emplace(handle, std::move(binary));
  return reinterpret_cast<void **>(handle);
}

HIP_EXPORTED void __hipRegisterFunction(void **handle, const void *hostFunction, char *,
                                        const char *deviceName, unsigned, void *, void *, dim3 *,
                                        dim3 *, int *) {
  Registry &all = registry();
  std::lock_guard lock(all.mutex);
  all.kernels[hostFunction] = {reinterpret_cast<FatBinary *>(handle), deviceName};
}

HIP_EXPORTED void __hipRegisterVar(void **handle, void *hostVariable, char *,
                                   const char *deviceName, int, size_t, int, int) {
  Registry &all = registry();
  std::lock_guard lock(all.mutex);
  all.variables[hostVariable] = {reinterpret_cast<FatBinary *>(handle), deviceName};
}

HIP_EXPORTED void __hipUnregisterFatBinary(void **handle) {
  auto *binary = reinterpret_cast<FatBinary *>(handle);
  Registry &all = registry();
  std::lock_guard lock(all.mutex);
  auto isOfIt = [&](const auto &one) { return one.second.binary == binary; };
  std::erase_if(all.kernels, isOfIt);
  std::erase_if(all.variables, isOfIt);
  all.binaries.erase(binary);
}

HIP_EXPORTED hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds,
                                                   CUstream stream) {
  configurations.push_back({grid, block, lds, stream});
  return hipSuccess;
}

HIP_EXPORTED hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *lds,
                                                  CUstream *stream) {
  if (configurations.empty())
    return finish(CUDA_ERROR_INVALID_VALUE);
  const CallConfiguration last = configurations.back();
  configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *lds = last.lds;
  *stream = last.stream;
  return hipSuccess;
}
