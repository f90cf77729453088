// cuModule*, cuFunc*.
#include "tilewright/support/Concat.h"
#include "tilewright/support/store/WholeFile.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/module/Binary.h"
#include "tilewright/vgpu/driver/module/JitOptions.h"
#include "tilewright/vgpu/driver/module/Module.h"

namespace tilewright::vgpu::driver {

CUresult readFile(const char *path, std::string &content) {
  std::optional<std::string> whole = readWholeFile(path);
  if (!whole)
    return fail(CUDA_ERROR_FILE_NOT_FOUND, concat("cannot read ", path));
  content = *std::move(whole);
  return CUDA_SUCCESS;
}

LogBuffer errorLog(unsigned count, const CUjit_option *options, void **values) {
  LogBuffer log;
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) {
      log.text = static_cast<char *>(values[i]);
    } else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
      log.bytes = reinterpret_cast<uintptr_t>(values[i]) & 0xffffffffu;
      log.written = reinterpret_cast<size_t *>(&values[i]);
    } else if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES) {
      values[i] = nullptr; // there are never info messages
    }
  return log;
}

static CUresult loadInto(CUmodule *module, std::span<const std::byte> image, const LogBuffer &log) {
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  std::shared_ptr<LoadedBinary> binary;
  VGPU_TRY(loadBinary(context->device, image, log, binary));
  binary->context = context;
  *module = static_cast<CUmodule>(Driver::get().modules.add(binary));
  return CUDA_SUCCESS;
}

static CUresult needModule(CUmodule handle, std::shared_ptr<LoadedBinary> &binary) {
  binary = Driver::get().modules.find(handle);
  return binary ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_HANDLE, "invalid or unloaded module");
}

static CUresult needHere(CUfunction handle, std::shared_ptr<Function> &function) {
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  return needFunction(handle, context->device, function);
}

namespace api {

CUresult cuModuleLoad(CUmodule *module, const char *path) {
  VGPU_NEED(module && path);
  std::string content;
  VGPU_TRY(readFile(path, content));
  return loadInto(module, std::as_bytes(std::span(content)), {});
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned numOptions,
                            CUjit_option *options, void **optionValues) {
  VGPU_NEED(module && image && (numOptions == 0 || (options && optionValues)));
  std::span<const std::byte> bytes;
  VGPU_TRY(sizeOfImage(image, bytes));
  return loadInto(module, bytes, errorLog(numOptions, options, optionValues));
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin) {
  return cuModuleLoadData(module, fatCubin);
}

CUresult cuModuleUnload(CUmodule handle) {
  std::shared_ptr<LoadedBinary> binary;
  VGPU_TRY(needModule(handle, binary));
  if (binary->context.expired())
    return fail(CUDA_ERROR_NOT_PERMITTED, "the module belongs to a library; unload the library");
  Driver::get().modules.take(handle);
  forgetFunctions(*binary);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode) {
  VGPU_NEED(mode);
  *mode = CU_MODULE_EAGER_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *result, CUmodule handle, const char *name) {
  VGPU_NEED(result && name);
  std::shared_ptr<LoadedBinary> binary;
  VGPU_TRY(needModule(handle, binary));
  std::shared_ptr<Function> function;
  VGPU_TRY(functionOf(binary, name, function));
  *result = static_cast<CUfunction>(function->handle);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule handle) {
  VGPU_NEED(count);
  std::shared_ptr<LoadedBinary> binary;
  VGPU_TRY(needModule(handle, binary));
  *count = static_cast<unsigned>(binary->kernelNames().size());
  return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned numFunctions, CUmodule handle) {
  VGPU_NEED(functions && numFunctions);
  std::shared_ptr<LoadedBinary> binary;
  VGPU_TRY(needModule(handle, binary));
  const std::vector<std::string> names = binary->kernelNames();
  for (size_t i = 0; i < names.size() && i < numFunctions; ++i)
    VGPU_TRY(cuModuleGetFunction(&functions[i], handle, names[i].c_str()));
  return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal(CUdeviceptr *address, size_t *bytes, CUmodule handle, const char *name) {
  VGPU_NEED(name && (address || bytes));
  std::shared_ptr<LoadedBinary> binary;
  VGPU_TRY(needModule(handle, binary));
  Result<std::span<std::byte>> found = binary->variable(name);
  if (!found.isOk())
    return fail(CUDA_ERROR_NOT_FOUND, std::move(found).takeStatus().toString());
  if (address)
    *address = reinterpret_cast<CUdeviceptr>(found->data());
  if (bytes)
    *bytes = found->size();
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle) {
  VGPU_NEED(value);
  std::shared_ptr<Function> function;
  VGPU_TRY(needHere(handle, function));
  return getAttribute(*function, attribute, *value);
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  std::shared_ptr<Function> function;
  VGPU_TRY(needHere(handle, function));
  return setAttribute(*function, attribute, value);
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config) {
  VGPU_NEED(config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL);
  std::shared_ptr<Function> function;
  VGPU_TRY(needHere(handle, function));
  function->cacheConfig = config;
  return CUDA_SUCCESS;
}

CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config) {
  VGPU_NEED(config >= 0 && config <= 2);
  std::shared_ptr<Function> function;
  return needHere(handle, function);
}

CUresult cuFuncGetModule(CUmodule *module, CUfunction handle) {
  VGPU_NEED(module);
  std::shared_ptr<Function> function;
  VGPU_TRY(needHere(handle, function));
  *module = static_cast<CUmodule>(function->binary->handle);
  return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char **name, CUfunction handle) {
  VGPU_NEED(name);
  std::shared_ptr<Function> function;
  VGPU_TRY(needHere(handle, function));
  *name = function->name.c_str();
  return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t paramIndex, size_t *paramOffset,
                            size_t *paramSize) {
  VGPU_NEED(paramOffset);
  std::shared_ptr<Function> function;
  VGPU_TRY(needHere(handle, function));
  return getParameter(*function, paramIndex, paramOffset, paramSize);
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction handle) {
  VGPU_NEED(state);
  std::shared_ptr<Function> function;
  VGPU_TRY(needHere(handle, function));
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction handle) {
  std::shared_ptr<Function> function;
  return needHere(handle, function); // functions are loaded with their module
}

} // namespace api

CUresult sizeOfImage(const void *image, std::span<const std::byte> &bytes) {
  Result<std::span<const std::byte>> whole = wholeImage(image);
  if (!whole.isOk())
    return fail(CUDA_ERROR_INVALID_IMAGE, std::move(whole).takeStatus().toString());
  bytes = *whole;
  return CUDA_SUCCESS;
}

} // namespace tilewright::vgpu::driver
