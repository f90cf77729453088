// The first calls of a program: cuInit, versions, errors, cuGetProcAddress.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Driver.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/observe/Summary.h"

#include <cstring>

namespace tilewright::vgpu::driver {

/// The version of the API, and of the CUDA release whose PTX the parser reads.
static constexpr int driverVersion = 13000;

/// Finds the newest version of a function that is not newer than `version`.
static CUdriverProcAddressQueryResult find(std::string_view name, int version, bool perThread,
                                           void *&address) {
  auto result = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  int since = 0;
  for (const Export &one : exports()) {
    if (one.name != name)
      continue;
    if (one.since > version) {
      if (!since)
        result = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
      continue;
    }
    if (one.since < since)
      continue;
    since = one.since;
    result = CU_GET_PROC_ADDRESS_SUCCESS;
    address = perThread && one.perThreadAddress ? one.perThreadAddress : one.address;
  }
  return result;
}

static const char *const *findError(CUresult error) {
  static constexpr const char *texts[][2] = {
#define TILEWRIGHT_CUDA_ERROR(name, number, text) {#name, text},
#include "tilewright/cuda-api/CudaErrors.def"
#undef TILEWRIGHT_CUDA_ERROR
  };
  static constexpr int numbers[] = {
#define TILEWRIGHT_CUDA_ERROR(name, number, text) number,
#include "tilewright/cuda-api/CudaErrors.def"
#undef TILEWRIGHT_CUDA_ERROR
  };
  for (size_t i = 0; i < std::size(numbers); ++i)
    if (numbers[i] == error)
      return texts[i];
  return nullptr;
}

static const char *nameOf(int error) {
  const char *const *found = findError(static_cast<CUresult>(error));
  return found ? found[0] : "unknown error";
}

namespace api {

CUresult cuInit(unsigned flags) {
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  VGPU_TRY(Driver::initialise({Vendor::nvidia, nameOf}));
  return Driver::get().devices.empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
  VGPU_NEED(version);
  *version = driverVersion;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **str) {
  VGPU_NEED(str);
  const char *const *found = findError(error);
  *str = found ? found[0] : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **str) {
  VGPU_NEED(str);
  const char *const *found = findError(error);
  *str = found ? found[1] : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetProcAddress(const char *symbol, void **functionOut, int version, uint64_t flags) {
  CUdriverProcAddressQueryResult result{};
  VGPU_TRY(cuGetProcAddress(symbol, functionOut, version, flags, &result));
  return result == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char *symbol, void **functionOut, int version, uint64_t flags,
                          CUdriverProcAddressQueryResult *symbolFound) {
  VGPU_NEED(symbol && functionOut && flags <= CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
  void *address = nullptr;
  const CUdriverProcAddressQueryResult result =
      find(symbol, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, address);
  *functionOut = address;
  if (result == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND)
    noteMissing(symbol);
  if (symbolFound)
    *symbolFound = result;
  return result == CU_GET_PROC_ADDRESS_SUCCESS || symbolFound
             ? CUDA_SUCCESS
             : fail(CUDA_ERROR_NOT_FOUND, concat("unknown function ", symbol));
}

CUresult cuGetExportTable(const void **exportTable, const CUuuid *) {
  if (exportTable)
    *exportTable = nullptr;
  return fail(CUDA_ERROR_NOT_SUPPORTED, "undocumented export tables are not supported, and neither "
                                        "is the CUDA runtime library, which needs them");
}

CUresult cuProfilerStart() {
  std::shared_ptr<Context> context;
  return needContext(context);
}
CUresult cuProfilerStop() {
  std::shared_ptr<Context> context;
  return needContext(context);
}

} // namespace api
} // namespace tilewright::vgpu::driver
