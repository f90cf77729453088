// Implements, on HIP, the CUDA driver functions that this library calls: for librccl.so.1, which is
// linked with libamdhip64.so.7. HIP has the same handles, flags and error numbers.
#include "tilewright/hip-api/HipTypes.h"
#include "tilewright/vgpu/nccl/Cuda.h"

#include <vector>

namespace tilewright::vgpu::nccl {

using hip_api::hipDeviceProp_t;
using hip_api::hipError_t;
using hip_api::hipKernelNodeParams;
using hip_api::hipMemcpyKind;

extern "C" {
#define TILEWRIGHT_HIP_SIGNATURE(name, parameters) hipError_t name parameters;
#include "tilewright/hip-api/Functions.def"
const char *hipGetErrorName(hipError_t error);
hipError_t hipMalloc(void **pointer, size_t bytes);
hipError_t hipFree(void *pointer);
hipError_t hipMemGetAddressRange(CUdeviceptr *base, size_t *bytes, CUdeviceptr address);
hipError_t hipStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status);
}

static CUresult resultOf(hipError_t error) { return static_cast<CUresult>(error); }

/// HIP has a current device instead of a context, so a context stands for a device.
static CUcontext contextOf(int device) {
  return reinterpret_cast<CUcontext>(static_cast<uintptr_t>(device) + 1);
}
static int deviceOf(CUcontext context) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(context)) - 1;
}

/// The current devices of the thread before each cuCtxPushCurrent.
static thread_local std::vector<int> devicesBefore;

extern "C" {

CUresult cuInit(unsigned flags) { return resultOf(hipInit(flags)); }
CUresult cuGetErrorName(CUresult error, const char **name) {
  *name = hipGetErrorName(static_cast<hipError_t>(error));
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  int number = 0;
  *context = contextOf(device);
  return resultOf(hipDeviceGet(&number, device));
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxGetDevice(CUdevice *device) { return resultOf(hipGetDevice(device)); }
CUresult cuCtxGetCurrent(CUcontext *context) {
  int device = 0;
  const hipError_t error = hipGetDevice(&device);
  *context = contextOf(device);
  return resultOf(error);
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  int before = 0;
  if (const CUresult result = resultOf(hipGetDevice(&before)); result != CUDA_SUCCESS)
    return result;
  devicesBefore.push_back(before);
  return resultOf(hipSetDevice(deviceOf(context)));
}
CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  cuCtxGetCurrent(context);
  if (devicesBefore.empty())
    return CUDA_ERROR_INVALID_CONTEXT;
  const int before = devicesBefore.back();
  devicesBefore.pop_back();
  return resultOf(hipSetDevice(before));
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  void *pointer = nullptr;
  const hipError_t error = hipMalloc(&pointer, bytes);
  *address = reinterpret_cast<CUdeviceptr>(pointer);
  return resultOf(error);
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  return resultOf(hipFree(reinterpret_cast<void *>(address)));
}
CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address) {
  return resultOf(hipMemGetAddressRange(base, bytes, address));
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  return resultOf(hipStreamIsCapturing(stream, status));
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return resultOf(hipStreamWaitEvent(stream, event, flags));
}
CUresult cuEventCreate(CUevent *event, unsigned flags) {
  return resultOf(hipEventCreateWithFlags(event, flags));
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  return resultOf(hipEventRecord(event, stream));
}
CUresult cuEventDestroy_v2(CUevent event) { return resultOf(hipEventDestroy(event)); }
}

} // namespace tilewright::vgpu::nccl
