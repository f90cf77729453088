#include "tilewright/vgpu/hip/Runtime.h"

#include <map>

namespace tilewright::vgpu::hip {

namespace {
struct HipError {
  int number;
  const char *name, *text;
};
constexpr HipError errors[] = {
#define TILEWRIGHT_HIP_ERROR(name, number, text) {number, #name, text},
#include "tilewright/hip-api/HipErrors.def"
};

/// The primary contexts that the runtime has retained, by device.
struct Retained {
  std::mutex mutex;
  std::map<int, CUcontext> contexts; // guarded by mutex
};
} // namespace

const char *nameOfError(int error) {
  for (const HipError &one : errors)
    if (one.number == error)
      return one.name;
  return "hipErrorUnknown";
}

const char *textOfError(int error) {
  for (const HipError &one : errors)
    if (one.number == error)
      return one.text;
  return "unknown error";
}

static Retained &retained() {
  static auto &only = *new Retained(); // outlives main(), as the driver does
  return only;
}

static thread_local int deviceOfThread = 0;
static thread_local CUresult lastFailure = CUDA_SUCCESS;

int currentDevice() { return deviceOfThread; }

/// Makes the primary context of a device current in this thread.
static CUresult use(int number) {
  Retained &all = retained();
  CUcontext context = nullptr, current = nullptr;
  {
    std::lock_guard lock(all.mutex);
    auto found = all.contexts.find(number);
    if (found == all.contexts.end()) {
      VGPU_TRY(api::cuDevicePrimaryCtxRetain(&context, number));
      found = all.contexts.emplace(number, context).first;
    }
    context = found->second;
  }
  VGPU_TRY(api::cuCtxGetCurrent(&current));
  return current == context ? CUDA_SUCCESS : api::cuCtxSetCurrent(context);
}

CUresult enter() {
  if (!driver::Driver::isInitialised())
    VGPU_TRY(driver::Driver::initialise({driver::Vendor::amd, nameOfError}));
  if (driver::Driver::get().devices.empty())
    return CUDA_ERROR_NO_DEVICE;
  return use(deviceOfThread);
}

hipError_t finish(CUresult result) {
  if (result != CUDA_SUCCESS)
    lastFailure = result;
  return static_cast<hipError_t>(result);
}

hipError_t lastError(bool forgets) {
  const auto error = static_cast<hipError_t>(lastFailure);
  if (forgets)
    lastFailure = CUDA_SUCCESS;
  return error;
}

CUresult setDevice(int number) {
  Device *device = nullptr;
  VGPU_TRY(driver::needDevice(number, device));
  VGPU_TRY(use(number));
  deviceOfThread = number;
  return CUDA_SUCCESS;
}

CUresult resetDevice() {
  api::cuCtxSynchronize(); // also a device that has failed is reset
  Retained &all = retained();
  std::lock_guard lock(all.mutex);
  all.contexts.erase(deviceOfThread);
  return api::cuDevicePrimaryCtxReset(deviceOfThread);
}

} // namespace tilewright::vgpu::hip
