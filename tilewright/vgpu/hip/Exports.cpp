// The C symbols of libamdhip64.so.7.
#include "tilewright/vgpu/driver/observe/Summary.h"
#include "tilewright/vgpu/hip/Calls.h"

#include <iterator>
#include <string_view>
#include <type_traits>

namespace tilewright::vgpu::hip {

/// HIP 7.1: major · 10,000,000 + minor · 100,000.
static constexpr int version = 70100000;

template <typename T, typename Value> static CUresult give(T *to, Value value) {
  VGPU_NEED(to);
  *to = value;
  return CUDA_SUCCESS;
}

static CUresult getVersion(int *to) { return give(to, version); }

static CUresult getSymbolSize(size_t *bytes, const void *symbol) {
  VGPU_NEED(bytes);
  CUdeviceptr address = 0;
  return addressOf(symbol, address, *bytes);
}

/// Copies if the kind is valid. The driver itself determines where the memory is.
template <typename Copy> static CUresult ofKind(hipMemcpyKind kind, Copy copy) {
  VGPU_TRY(checkKind(kind));
  return copy();
}

template <typename Next> static CUresult both(CUresult first, Next next) {
  VGPU_TRY(first);
  return next();
}

} // namespace tilewright::vgpu::hip

using namespace tilewright::vgpu::hip;

#define HIP_EXPORTED extern "C" __attribute__((visibility("default")))
#define TILEWRIGHT_HIP_FUNCTION(name, parameters, result)                                          \
  HIP_EXPORTED hipError_t name parameters {                                                        \
    return call([&]() -> CUresult { return result; });                                             \
  }
#include "tilewright/vgpu/hip/Functions.def"

HIP_EXPORTED hipError_t hipGetLastError() { return lastError(/*forgets=*/true); }
HIP_EXPORTED hipError_t hipPeekAtLastError() { return lastError(/*forgets=*/false); }
HIP_EXPORTED const char *hipGetErrorName(hipError_t error) { return nameOfError(error); }
HIP_EXPORTED const char *hipGetErrorString(hipError_t error) { return textOfError(error); }

namespace tilewright::vgpu::hip {

// The runtime calls these functions by the types that hip-api declares.
#define TILEWRIGHT_HIP_SIGNATURE(name, parameters)                                                 \
  static_assert(std::is_same_v<decltype(::name), signature::name>);
#include "tilewright/hip-api/Functions.def"

CUresult getProcAddress(const char *symbol, void **function, int *status) {
  struct Export {
    std::string_view name;
    void *address;
  };
  static const Export exports[] = {
#define TILEWRIGHT_HIP_FUNCTION(name, parameters, result) {#name, reinterpret_cast<void *>(&name)},
#include "tilewright/vgpu/hip/Functions.def"
      {"hipGetDeviceProperties", reinterpret_cast<void *>(&hipGetDevicePropertiesR0600)},
      {"hipGetLastError", reinterpret_cast<void *>(&hipGetLastError)},
      {"hipPeekAtLastError", reinterpret_cast<void *>(&hipPeekAtLastError)},
      {"hipGetErrorName", reinterpret_cast<void *>(&hipGetErrorName)},
      {"hipGetErrorString", reinterpret_cast<void *>(&hipGetErrorString)},
  };
  VGPU_NEED(symbol && function);
  constexpr int found = 0, notFound = 1;
  *function = nullptr;
  for (const Export &one : exports)
    if (one.name == symbol)
      *function = one.address;
  if (status)
    *status = *function ? found : notFound;
  if (*function)
    return CUDA_SUCCESS;
  driver::noteMissing(symbol);
  return fail(CUDA_ERROR_NOT_FOUND, symbol);
}

} // namespace tilewright::vgpu::hip
