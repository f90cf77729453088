// cuLibrary*, cuKernel*, cuLink*.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/Memory.h"
#include "tilewright/vgpu/driver/module/JitOptions.h"
#include "tilewright/vgpu/driver/module/PtxBinary.h"

#include <cstring>

namespace tilewright::vgpu::driver {

/// A linker created by cuLinkCreate. It takes only one module, since the virtual GPU does not link
/// PTX.
struct Linker : Handled {
  std::mutex mutex;
  LogBuffer log;
  std::string image; // guarded by mutex
  std::string from;  // guarded by mutex; the name of the image
};

static CUresult needLibrary(CUlibrary handle, std::shared_ptr<Library> &library) {
  library = Driver::get().libraries.find(handle);
  return library ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_HANDLE, "invalid or unloaded library");
}

static CUresult needKernel(CUkernel handle, std::shared_ptr<Function> &kernel) {
  kernel = Driver::get().functions.find(handle);
  return kernel && kernel->perDevice.size()
             ? CUDA_SUCCESS
             : fail(CUDA_ERROR_INVALID_HANDLE, "invalid library kernel");
}

static CUresult needLinker(CUlinkState handle, std::shared_ptr<Linker> &linker) {
  linker = Driver::get().linkers.find(handle);
  return linker ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_HANDLE, "invalid or destroyed linker");
}

/// Loads the image on every device that it has code for. Fails if there is no such device.
static CUresult load(std::span<const std::byte> image, const LogBuffer &log, CUlibrary *result) {
  Driver &driver = Driver::get();
  auto library = std::make_shared<Library>();
  CUresult first = CUDA_ERROR_NO_DEVICE;
  bool isLoaded = false;
  for (const auto &device : driver.devices) {
    std::shared_ptr<LoadedBinary> binary;
    const CUresult code = loadBinary(*device, image, log, binary);
    if (code == CUDA_SUCCESS)
      driver.modules.add(binary);
    isLoaded = isLoaded || code == CUDA_SUCCESS;
    if (device->ordinal == 0)
      first = code;
    library->perDevice.push_back(std::move(binary));
  }
  if (!isLoaded)
    return first;
  for (size_t i = 0; i < library->perDevice.size(); ++i) {
    if (!library->perDevice[i])
      continue;
    for (const std::string &name : library->perDevice[i]->kernelNames()) {
      std::shared_ptr<Function> &kernel = library->kernels[name];
      if (!kernel) {
        kernel = std::make_shared<Function>();
        kernel->name = name;
        kernel->library = library;
        kernel->perDevice.resize(library->perDevice.size());
        driver.functions.add(kernel);
      }
      VGPU_TRY(functionOf(library->perDevice[i], name, kernel->perDevice[i]));
    }
  }
  *result = static_cast<CUlibrary>(driver.libraries.add(library));
  return CUDA_SUCCESS;
}

static CUresult moduleHere(CUlibrary handle, std::shared_ptr<LoadedBinary> &binary) {
  std::shared_ptr<Library> library;
  VGPU_TRY(needLibrary(handle, library));
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  binary = library->perDevice[static_cast<size_t>(context->device.ordinal)];
  return binary ? CUDA_SUCCESS
                : fail(CUDA_ERROR_NOT_FOUND, "the library has no code for this device");
}

static CUresult functionFor(CUkernel handle, CUdevice number, std::shared_ptr<Function> &function) {
  std::shared_ptr<Function> kernel;
  VGPU_TRY(needKernel(handle, kernel));
  Device *device = nullptr;
  VGPU_TRY(needDevice(number, device));
  return needFunction(handle, *device, function);
}

/// A function of the kernel on any device, for properties that are the same on all devices.
static const Function &anyOf(const Function &kernel) {
  for (const std::shared_ptr<Function> &one : kernel.perDevice)
    if (one)
      return *one;
  return kernel;
}

namespace api {

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                           void **jitOptionsValues, unsigned numJitOptions, CUlibraryOption *,
                           void **, unsigned) {
  VGPU_NEED(library && code && (numJitOptions == 0 || (jitOptions && jitOptionsValues)));
  std::span<const std::byte> image;
  VGPU_TRY(sizeOfImage(code, image));
  return load(image, errorLog(numJitOptions, jitOptions, jitOptionsValues), library);
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *fileName, CUjit_option *jitOptions,
                               void **jitOptionsValues, unsigned numJitOptions, CUlibraryOption *,
                               void **, unsigned) {
  VGPU_NEED(library && fileName && (numJitOptions == 0 || (jitOptions && jitOptionsValues)));
  std::string content;
  VGPU_TRY(readFile(fileName, content));
  return load(std::as_bytes(std::span(content)),
              errorLog(numJitOptions, jitOptions, jitOptionsValues), library);
}

CUresult cuLibraryUnload(CUlibrary handle) {
  std::shared_ptr<Library> library = Driver::get().libraries.take(handle);
  if (!library)
    return fail(CUDA_ERROR_INVALID_HANDLE, "invalid or unloaded library");
  for (const auto &[name, kernel] : library->kernels)
    Driver::get().functions.take(kernel->handle);
  for (const std::shared_ptr<LoadedBinary> &binary : library->perDevice)
    if (binary) {
      Driver::get().modules.take(binary->handle);
      forgetFunctions(*binary);
    }
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary handle, const char *name) {
  VGPU_NEED(kernel && name);
  std::shared_ptr<Library> library;
  VGPU_TRY(needLibrary(handle, library));
  auto found = library->kernels.find(std::string_view(name));
  if (found == library->kernels.end())
    return fail(CUDA_ERROR_NOT_FOUND, concat("the library has no kernel ", name));
  *kernel = static_cast<CUkernel>(found->second->handle);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernelCount(unsigned *count, CUlibrary handle) {
  VGPU_NEED(count);
  std::shared_ptr<Library> library;
  VGPU_TRY(needLibrary(handle, library));
  *count = static_cast<unsigned>(library->kernels.size());
  return CUDA_SUCCESS;
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned numKernels, CUlibrary handle) {
  VGPU_NEED(kernels && numKernels);
  std::shared_ptr<Library> library;
  VGPU_TRY(needLibrary(handle, library));
  unsigned i = 0;
  for (const auto &[name, kernel] : library->kernels)
    if (i < numKernels)
      kernels[i++] = static_cast<CUkernel>(kernel->handle);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule *module, CUlibrary handle) {
  VGPU_NEED(module);
  std::shared_ptr<LoadedBinary> binary;
  VGPU_TRY(moduleHere(handle, binary));
  *module = static_cast<CUmodule>(binary->handle);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary handle,
                            const char *name) {
  std::shared_ptr<LoadedBinary> binary;
  VGPU_TRY(moduleHere(handle, binary));
  return cuModuleGetGlobal(address, bytes, static_cast<CUmodule>(binary->handle), name);
}

CUresult cuLibraryGetManaged(CUdeviceptr *address, size_t *bytes, CUlibrary handle,
                             const char *name) {
  VGPU_NEED(name);
  std::shared_ptr<Library> library;
  VGPU_TRY(needLibrary(handle, library));
  for (const std::shared_ptr<LoadedBinary> &binary : library->perDevice) {
    if (!binary)
      continue;
    const ptx::Module &source = static_cast<const PtxBinary &>(*binary).module->source();
    for (const ptx::Variable &variable : source.variables)
      if (variable.managed && source.name(variable.name) == name)
        return cuModuleGetGlobal(address, bytes, static_cast<CUmodule>(binary->handle), name);
  }
  return fail(CUDA_ERROR_NOT_FOUND, concat("the library has no managed variable ", name));
}

CUresult cuKernelGetFunction(CUfunction *result, CUkernel handle) {
  VGPU_NEED(result);
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  std::shared_ptr<Function> function;
  VGPU_TRY(functionFor(handle, context->device.ordinal, function));
  *result = static_cast<CUfunction>(function->handle);
  return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel handle) {
  VGPU_NEED(library);
  std::shared_ptr<Function> kernel;
  VGPU_TRY(needKernel(handle, kernel));
  std::shared_ptr<Library> owner = kernel->library.lock();
  *library = owner ? static_cast<CUlibrary>(owner->handle) : nullptr;
  return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel handle,
                              CUdevice device) {
  VGPU_NEED(value);
  std::shared_ptr<Function> function;
  VGPU_TRY(functionFor(handle, device, function));
  return getAttribute(*function, attribute, *value);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle,
                              CUdevice device) {
  std::shared_ptr<Function> function;
  VGPU_TRY(functionFor(handle, device, function));
  return setAttribute(*function, attribute, value);
}

CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice device) {
  VGPU_NEED(config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL);
  std::shared_ptr<Function> function;
  VGPU_TRY(functionFor(handle, device, function));
  function->cacheConfig = config;
  return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char **name, CUkernel handle) {
  VGPU_NEED(name);
  std::shared_ptr<Function> kernel;
  VGPU_TRY(needKernel(handle, kernel));
  *name = kernel->name.c_str();
  return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel handle, size_t paramIndex, size_t *paramOffset,
                              size_t *paramSize) {
  VGPU_NEED(paramOffset);
  std::shared_ptr<Function> kernel;
  VGPU_TRY(needKernel(handle, kernel));
  return getParameter(anyOf(*kernel), paramIndex, paramOffset, paramSize);
}

CUresult cuLinkCreate(unsigned numOptions, CUjit_option *options, void **optionValues,
                      CUlinkState *state) {
  VGPU_NEED(state && (numOptions == 0 || (options && optionValues)));
  auto linker = std::make_shared<Linker>();
  linker->log = errorLog(numOptions, options, optionValues);
  *state = static_cast<CUlinkState>(Driver::get().linkers.add(linker));
  return CUDA_SUCCESS;
}

CUresult cuLinkAddData(CUlinkState handle, CUjitInputType type, void *data, size_t size,
                       const char *name, unsigned, CUjit_option *, void **) {
  VGPU_NEED(data && size);
  std::shared_ptr<Linker> linker;
  VGPU_TRY(needLinker(handle, linker));
  if (type != CU_JIT_INPUT_PTX && type != CU_JIT_INPUT_FATBINARY)
    return fail(
        CUDA_ERROR_NOT_SUPPORTED,
        concat("input of kind ", int(type), " does not contain PTX; pass PTX or a fat binary"));
  std::lock_guard lock(linker->mutex);
  if (!linker->image.empty())
    return fail(CUDA_ERROR_NOT_SUPPORTED,
                concat("only one PTX input can be linked: '", linker->from,
                       "' was already added, so '", name ? name : "",
                       "' cannot be added; compile both as one module"));
  linker->from = name ? name : "";
  linker->image.assign(static_cast<const char *>(data), size);
  return CUDA_SUCCESS;
}

CUresult cuLinkAddFile(CUlinkState handle, CUjitInputType type, const char *path,
                       unsigned numOptions, CUjit_option *options, void **optionValues) {
  VGPU_NEED(path);
  std::string content;
  VGPU_TRY(readFile(path, content));
  return cuLinkAddData(handle, type, content.data(), content.size(), path, numOptions, options,
                       optionValues);
}

CUresult cuLinkComplete(CUlinkState handle, void **cubin, size_t *size) {
  VGPU_NEED(cubin);
  std::shared_ptr<Linker> linker;
  VGPU_TRY(needLinker(handle, linker));
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  std::lock_guard lock(linker->mutex);
  VGPU_NEED(!linker->image.empty());
  // Load the image once here, so that the linker reports the errors in it.
  std::shared_ptr<LoadedBinary> tried;
  VGPU_TRY(
      loadBinary(context->device, std::as_bytes(std::span(linker->image)), linker->log, tried));
  *cubin = linker->image.data(); // zero-terminated, as PTX text must be
  if (size)
    *size = linker->image.size();
  return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState handle) {
  return Driver::get().linkers.take(handle)
             ? CUDA_SUCCESS
             : fail(CUDA_ERROR_INVALID_HANDLE, "invalid or destroyed linker");
}

} // namespace api
} // namespace tilewright::vgpu::driver
