// The state of HIP's runtime around a call: the current device and the last error of a thread.
#ifndef TILEWRIGHT_VGPU_HIP_RUNTIME_H
#define TILEWRIGHT_VGPU_HIP_RUNTIME_H

#include "tilewright/hip-api/HipTypes.h"
#include "tilewright/vgpu/driver/Driver.h"
#include "tilewright/vgpu/driver/Functions.h"

namespace tilewright::vgpu::hip {

using namespace cuda_api;
using namespace hip_api;
using driver::Context;
using driver::Device;
using driver::fail;
namespace api = driver::api;

const char *nameOfError(int error);
const char *textOfError(int error);

/// Initialises the driver, and makes the primary context of the thread's device current.
CUresult enter();
/// Stores the result of a call as the last error of the thread, unless it is success.
hipError_t finish(CUresult result);
/// The last error of the thread; `forgets` sets it to hipSuccess.
hipError_t lastError(bool forgets);

/// Runs the body of an API function.
template <typename Body> hipError_t call(Body body) {
  const CUresult entered = enter();
  return finish(entered == CUDA_SUCCESS ? body() : entered);
}

/// A result code that CUDA's driver does not have.
inline CUresult result(hipError_t error) { return static_cast<CUresult>(error); }

int currentDevice();
CUresult setDevice(int number);
CUresult resetDevice();

} // namespace tilewright::vgpu::hip

#endif // TILEWRIGHT_VGPU_HIP_RUNTIME_H
