// The functions of the CUDA runtime that host code of the CuTe DSL calls, implemented with the
// driver: the runtime in the DSL's own library asks the driver for tables without documentation. A
// library is loaded from PTX instead of machine code.
#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>

namespace {
struct Dim {
  unsigned x, y, z;
};
struct RuntimeConfig { // cudaLaunchConfig_t
  Dim grid, block;
  size_t sharedBytes;
  void *stream;
  void *attributes;
  unsigned count;
};
struct DriverConfig { // CUlaunchConfig
  Dim grid, block;
  unsigned sharedBytes;
  void *stream;
  void *attributes;
  unsigned count;
};

/// A function of the driver.
template <typename... Arguments> int call(const char *name, Arguments... arguments) {
  static void *const driver = dlopen("libcuda.so.1", RTLD_NOW);
  void *const found = driver ? dlsym(driver, name) : nullptr;
  if (!found)
    std::abort();
  return reinterpret_cast<int (*)(Arguments...)>(found)(arguments...);
}
} // namespace

// Attributes of kernels, devices and launches have the same numbers and layouts in both interfaces.
/// The PTX of which the library to be loaded was made.
static const char *text = nullptr;

extern "C" {
void useText(const char *ptx) { text = ptx; }

int _cudaLibraryLoadData(void **library, const void *, void *, void *, unsigned, void *, void *,
                         unsigned) {
  return call<void **, const void *, void *, void *, unsigned, void *, void *, unsigned>(
      "cuLibraryLoadData", library, text, nullptr, nullptr, 0, nullptr, nullptr, 0);
}
int _cudaLibraryGetKernel(void **kernel, void *library, const char *name) {
  return call("cuLibraryGetKernel", kernel, library, name);
}
int _cuKernelGetAttribute(int *value, int attribute, void *kernel, int device) {
  return call("cuKernelGetAttribute", value, attribute, kernel, device);
}
int _cudaKernelSetAttributeForDevice(void *kernel, int attribute, int value, int device) {
  return call("cuKernelSetAttribute", attribute, value, kernel, device);
}
int _cudaFuncSetAttribute(void *kernel, int attribute, int value) {
  return call("cuKernelSetAttribute", attribute, value, kernel, 0);
}
int _cudaGetDevice(int *device) { return call("cuCtxGetDevice", device); }
int _cudaDeviceGetAttribute(int *value, int attribute, int device) {
  return call("cuDeviceGetAttribute", value, attribute, device);
}
int _cudaLaunchKernelEx(const RuntimeConfig *config, void *kernel, void **arguments) {
  const DriverConfig driver{
      config->grid,   config->block,      static_cast<unsigned>(config->sharedBytes),
      config->stream, config->attributes, config->count};
  return call<const DriverConfig *, void *, void **, void **>("cuLaunchKernelEx", &driver, kernel,
                                                              arguments, nullptr);
}
const char *CuteDSLRT_GetErrorName(int) { return "an error of the virtual driver"; }
const char *CuteDSLRT_GetErrorString(int) { return "an error of the virtual driver"; }
}
