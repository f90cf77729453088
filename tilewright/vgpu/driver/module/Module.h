// Modules, their kernels, and libraries, which are loaded on every device.
#ifndef TILEWRIGHT_VGPU_DRIVER_MODULE_MODULE_H
#define TILEWRIGHT_VGPU_DRIVER_MODULE_MODULE_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/driver/Driver.h"

#include <array>
#include <map>
#include <span>

namespace tilewright::vgpu::driver {

struct KernelWork;

/// A module loaded on a device. The parts that depend on the instruction set are virtual: PtxBinary
/// has PTX, hip/CodeBinary has machine code of AMD.
struct LoadedBinary : Handled {
  explicit LoadedBinary(Device &device) : device(device) {}
  virtual ~LoadedBinary() = default;

  /// The names of all kernels, in the module's order.
  virtual std::vector<std::string> kernelNames() const = 0;
  /// Fills in the properties of the kernel `name`.
  ///  - CUDA_ERROR_NOT_FOUND: the module has no such kernel.
  virtual CUresult describe(std::string_view name, Function &function) = 0;
  virtual Result<std::span<std::byte>> variable(std::string_view name) = 0;
  /// Checks the sizes of a launch against the kernel and the chip.
  virtual CUresult check(const KernelWork &work) const = 0;
  /// Runs a kernel to its end, or until `stop` becomes true.
  virtual Status launch(Context &context, const KernelWork &work,
                        const std::atomic<bool> &stop) = 0;

  Device &device;
  std::weak_ptr<Context> context; // null for a module of a library

  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Function>, std::less<>> functions; // guarded by mutex

protected:
  /// Registers a variable, so that copies and kernels may access it.
  void addVariable(std::span<std::byte> variable);
  /// For destructors: call before freeing the memory of the variables.
  void dropVariables();

private:
  std::vector<uint64_t> variables; // addresses in the table of allocations
};

/// Offset and size of one kernel parameter.
struct ParameterInfo {
  size_t offset = 0, size = 0;
};

/// A kernel of a module. If `library` is set, a kernel of a library, with one Function for each
/// device.
struct Function : Handled {
  std::string name;
  std::shared_ptr<LoadedBinary> binary; // null for a kernel of a library
  std::weak_ptr<Library> library;
  std::vector<std::shared_ptr<Function>> perDevice; // for a kernel of a library

  // Properties of the kernel.
  uint32_t staticShared = 0, localBytes = 0, registers = 0, maxThreads = 0, constBytes = 0;
  int ptxVersion = 0;
  std::array<uint32_t, 3> requiredCluster{};
  std::vector<ParameterInfo> parameters;
  size_t parameterBytes = 0;

  // Attributes that the program can set.
  std::atomic<uint32_t> maxDynamicShared = 0;
  std::atomic<int> carveout = -1, nonPortableCluster = 0, schedulingPolicy = 0, cacheConfig = 0;
};

struct Library : Handled {
  std::vector<std::shared_ptr<LoadedBinary>> perDevice;
  std::map<std::string, std::shared_ptr<Function>, std::less<>> kernels;
};

/// The log buffer for load errors, as given by the options of cuModuleLoadDataEx.
struct LogBuffer {
  char *text = nullptr;
  size_t bytes = 0;
  size_t *written = nullptr; // receives the number of bytes used; points to the option's value
};

/// Reports why a module cannot be loaded to the log, to standard error and to the summary. Returns
/// the error code.
CUresult refuseModule(const Status &status, const LogBuffer &log);
/// Loads PTX text, or a container that holds PTX. Reports failures to the log, to standard error
/// and to the summary.
CUresult loadBinary(Device &device, std::span<const std::byte> image, const LogBuffer &log,
                    std::shared_ptr<LoadedBinary> &binary);
/// The bytes of an image. The image's own header gives its size.
CUresult sizeOfImage(const void *image, std::span<const std::byte> &bytes);

/// Finds or creates the function named `name`. CUDA_ERROR_NOT_FOUND if the module has no such
/// function.
CUresult functionOf(const std::shared_ptr<LoadedBinary> &binary, std::string_view name,
                    std::shared_ptr<Function> &function);
/// The function on `device` for a handle of a function or of a library's kernel.
CUresult needFunction(const void *handle, const Device &device,
                      std::shared_ptr<Function> &function);
/// Invalidates the handles of a module's functions. Submitted work keeps the functions alive.
void forgetFunctions(LoadedBinary &binary);
/// Unloads the modules of a context, and frees its memory and events.
void releaseContextObjects(Context &context);

/// The offset and the size of parameter `index`; `size` may be null.
CUresult getParameter(const Function &function, size_t index, size_t *offset, size_t *size);
CUresult getAttribute(const Function &function, CUfunction_attribute attribute, int &value);
CUresult setAttribute(Function &function, CUfunction_attribute attribute, int value);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_MODULE_MODULE_H
