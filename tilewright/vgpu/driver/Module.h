// Modules, their kernels, and libraries of them that are loaded on every device.
#ifndef TILEWRIGHT_VGPU_DRIVER_MODULE_H
#define TILEWRIGHT_VGPU_DRIVER_MODULE_H

#include "tilewright/vgpu/driver/Driver.h"
#include "tilewright/vgpu/machine/LoadedModule.h"

#include <map>
#include <span>

namespace tilewright::vgpu::driver {

/// What the ptxas that was run for validation found out about a kernel.
struct PtxasFacts {
  uint32_t registers = 0; // 0: not known
  uint32_t spillBytes = 0;
};

/// A module on a device.
struct LoadedBinary : Handled {
  LoadedBinary(Device &device, std::unique_ptr<machine::LoadedModule> module)
      : device(device), module(std::move(module)) {}
  ~LoadedBinary();

  Device &device;
  std::weak_ptr<Context> context; // of a module of a library: none
  const std::unique_ptr<machine::LoadedModule> module;
  std::map<std::string, PtxasFacts, std::less<>> facts;
  std::vector<uint64_t> variables; // addresses in the table of allocations

  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Function>, std::less<>> functions; // guarded by mutex
};

/// Memory of one parameter of a kernel.
struct ParameterInfo {
  size_t offset = 0, size = 0;
};

/// A kernel of a module; or, where `library` is set, a kernel of a library, which is one
/// of each device's module.
struct Function : Handled {
  std::string name;
  std::shared_ptr<LoadedBinary> binary; // null for a kernel of a library
  std::weak_ptr<Library> library;
  std::vector<std::shared_ptr<Function>> perDevice; // of a kernel of a library

  // Facts of the kernel.
  uint32_t staticShared = 0, localBytes = 0, registers = 0, maxThreads = 0, constBytes = 0;
  int ptxVersion = 0;
  std::array<uint32_t, 3> requiredCluster{};
  std::vector<ParameterInfo> parameters;
  size_t parameterBytes = 0;

  // What the program asks for.
  std::atomic<uint32_t> maxDynamicShared = 0;
  std::atomic<int> carveout = -1, nonPortableCluster = 0, schedulingPolicy = 0, cacheConfig = 0;
};

struct Library : Handled {
  std::vector<std::shared_ptr<LoadedBinary>> perDevice;
  std::map<std::string, std::shared_ptr<Function>, std::less<>> kernels;
};

/// Where a loader says what went wrong; as the options of cuModuleLoadDataEx give it.
struct LogBuffer {
  char *text = nullptr;
  size_t bytes = 0;
  size_t *written = nullptr; // where the size used goes; an option's value
};

/// Loads PTX text or a container that holds some. Failures are reported to the log, to
/// standard error and to the summary.
CUresult loadBinary(Device &device, std::span<const std::byte> image, const LogBuffer &log,
                    std::shared_ptr<LoadedBinary> &binary);
/// The bytes of an image whose size only the image itself says.
CUresult sizeOfImage(const void *image, std::span<const std::byte> &bytes);

/// Finds or makes the function of that name. CUDA_ERROR_NOT_FOUND if there is none.
CUresult functionOf(const std::shared_ptr<LoadedBinary> &binary, std::string_view name,
                    std::shared_ptr<Function> &function);
/// The function behind a handle of a function or of a library's kernel, for a device.
CUresult needFunction(const void *handle, const Device &device,
                      std::shared_ptr<Function> &function);
/// Makes the handles of a module's functions invalid. Work that was given keeps them.
void forgetFunctions(LoadedBinary &binary);
/// Unloads the modules of a context, frees its memory and events.
void releaseContextObjects(Context &context);
/// All kernels of a module, in its order.
std::vector<std::string> kernelNames(const LoadedBinary &binary);

/// Where parameter `index` lies and how large it is; the size may be null.
CUresult getParameter(const Function &function, size_t index, size_t *offset, size_t *size);
CUresult getAttribute(const Function &function, CUfunction_attribute attribute, int &value);
CUresult setAttribute(Function &function, CUfunction_attribute attribute, int value);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_MODULE_H
