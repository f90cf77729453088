#include "tilewright/runtime/hip/HipDriver.h"
#include "tilewright/hip-api/HipTypes.h"
#include "tilewright/support/Concat.h"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

namespace tilewright::runtime::hip {
namespace {

using namespace cuda_api;
using namespace hip_api;
namespace cu = cuda::signature;

struct HipFunctions {
#define TILEWRIGHT_HIP_SIGNATURE(name, parameters) hip_api::signature::name *name = nullptr;
#include "tilewright/hip-api/Functions.def"
  hip_api::signature::hipGetErrorName *hipGetErrorName = nullptr;
  hip_api::signature::hipGetErrorString *hipGetErrorString = nullptr;
};

/// The functions of the table are plain functions, so they find the library through this variable.
/// Never freed.
std::atomic<const HipFunctions *> ofProcess = nullptr;

const HipFunctions &driver() { return *ofProcess.load(std::memory_order_acquire); }

/// HIP's errors have CUDA's numbers.
CUresult resultOf(hipError_t error) { return static_cast<CUresult>(error); }

template <typename Signature> struct Forward;
template <typename... Arguments> struct Forward<CUresult(Arguments...)> {
  template <auto function> static CUresult call(Arguments... arguments) {
    return resultOf((driver().*function)(arguments...));
  }
};

template <typename Signature> struct Absent;
template <typename... Arguments> struct Absent<CUresult(Arguments...)> {
  static CUresult call(Arguments...) { return CUDA_ERROR_NOT_SUPPORTED; }
};

/// Contexts stand for devices; the null context stands for none.
CUcontext contextOf(int device) { return reinterpret_cast<CUcontext>(uintptr_t(device) + 1); }
int deviceOf(CUcontext context) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(context)) - 1;
}

/// The current devices of the thread before each cuCtxPushCurrent.
thread_local std::vector<int> devicesBefore;

CUresult cuGetErrorString(CUresult error, const char **text) {
  *text = driver().hipGetErrorString(static_cast<hipError_t>(error));
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char **name) {
  *name = driver().hipGetErrorName(static_cast<hipError_t>(error));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  auto get = [&](hipDeviceAttribute_t which) {
    return resultOf(driver().hipDeviceGetAttribute(value, which, device));
  };
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    return get(hipDeviceAttributeComputeCapabilityMajor);
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    return get(hipDeviceAttributeComputeCapabilityMinor);
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    return get(hipDeviceAttributeMaxThreadsPerBlock);
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    return get(hipDeviceAttributeMultiprocessorCount);
  // A workgroup may use all of the LDS without opting in.
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    return get(hipDeviceAttributeMaxSharedMemoryPerBlock);
  case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
  case CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED:
    *value = 0;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_NOT_SUPPORTED;
  }
}

/// The number of clients that use each device; guarded by the mutex.
struct Uses {
  std::mutex mutex;
  std::map<int, int> count;
};
Uses &uses() {
  static auto &only = *new Uses(); // outlives main()
  return only;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  int number = 0;
  if (hipError_t error = driver().hipDeviceGet(&number, device); error != hipSuccess)
    return resultOf(error);
  std::lock_guard lock(uses().mutex);
  ++uses().count[device];
  *context = contextOf(device);
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context) {
  int before = 0;
  if (hipError_t error = driver().hipGetDevice(&before); error != hipSuccess)
    return resultOf(error);
  if (hipError_t error = driver().hipSetDevice(deviceOf(context)); error != hipSuccess)
    return resultOf(error);
  devicesBefore.push_back(before);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *context) {
  if (devicesBefore.empty())
    return CUDA_ERROR_INVALID_CONTEXT;
  int now = 0;
  driver().hipGetDevice(&now);
  *context = contextOf(now);
  const int before = devicesBefore.back();
  devicesBefore.pop_back();
  return resultOf(driver().hipSetDevice(before));
}

/// Resets a failed device once nothing uses it any more, so that a new client can use it. Does not
/// reset it otherwise: other code of the process may use it.
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  std::lock_guard lock(uses().mutex);
  if (--uses().count[device] > 0)
    return CUDA_SUCCESS;
  CUcontext popped = nullptr;
  if (CUresult result = cuCtxPushCurrent(contextOf(device)); result != CUDA_SUCCESS)
    return result;
  CUresult result = CUDA_SUCCESS;
  if (cuda::DriverApi::isFatal(resultOf(driver().hipDeviceSynchronize())))
    result = resultOf(driver().hipDeviceReset());
  cuCtxPopCurrent(&popped);
  return result;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return resultOf(driver().hipSetDevice(deviceOf(context)));
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
  void *pointer = nullptr;
  const hipError_t error = driver().hipMallocFromPoolAsync(&pointer, bytes, pool, stream);
  *address = reinterpret_cast<CUdeviceptr>(pointer);
  return resultOf(error);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return resultOf(driver().hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, stream));
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext toContext, CUdeviceptr from,
                           CUcontext fromContext, size_t bytes, CUstream stream) {
  return resultOf(driver().hipMemcpyPeerAsync(to, deviceOf(toContext), from, deviceOf(fromContext),
                                              bytes, stream));
}

/// For attributes of 4 bytes, which are 0 if HIP does not know the memory.
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **values,
                                CUdeviceptr address) {
  for (unsigned i = 0; i < count; ++i)
    if (driver().hipPointerGetAttribute(values[i], attributes[i], address) != hipSuccess)
      std::memset(values[i], 0, sizeof(int));
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **values,
                          void **extra) {
  if (config->numAttrs > 0)
    return CUDA_ERROR_NOT_SUPPORTED;
  return resultOf(
      driver().hipModuleLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ,
                                     config->blockDimX, config->blockDimY, config->blockDimZ,
                                     config->sharedMemBytes, config->hStream, values, extra));
}

hipKernelNodeParams parametersOf(const CUDA_KERNEL_NODE_PARAMS_v2 &node) {
  return {.blockDim = {node.blockDimX, node.blockDimY, node.blockDimZ},
          .extra = node.extra,
          .func = node.func,
          .gridDim = {node.gridDimX, node.gridDimY, node.gridDimZ},
          .kernelParams = node.kernelParams,
          .sharedMemBytes = node.sharedMemBytes};
}

CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                              size_t count, const CUDA_KERNEL_NODE_PARAMS_v2 *parameters) {
  const hipKernelNodeParams ofHip = parametersOf(*parameters);
  return resultOf(driver().hipGraphAddKernelNode(node, graph, dependencies, count, &ofHip));
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v2 *parameters) {
  const hipKernelNodeParams ofHip = parametersOf(*parameters);
  return resultOf(driver().hipGraphExecKernelNodeSetParams(exec, node, &ofHip));
}

/// The runtime copies contiguous bytes.
bool isRow(const CUDA_MEMCPY3D &copy) {
  return copy.Height == 1 && copy.Depth == 1 && copy.srcXInBytes == 0 && copy.dstXInBytes == 0 &&
         copy.srcMemoryType == CU_MEMORYTYPE_UNIFIED && copy.dstMemoryType == CU_MEMORYTYPE_UNIFIED;
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                              size_t count, const CUDA_MEMCPY3D *copy, CUcontext) {
  if (!isRow(*copy))
    return CUDA_ERROR_NOT_SUPPORTED;
  return resultOf(driver().hipGraphAddMemcpyNode1D(node, graph, dependencies, count,
                                                   copy->dstDevice, copy->srcDevice,
                                                   copy->WidthInBytes, hipMemcpyDefault));
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMCPY3D *copy, CUcontext) {
  if (!isRow(*copy))
    return CUDA_ERROR_NOT_SUPPORTED;
  return resultOf(driver().hipGraphExecMemcpyNodeSetParams1D(
      exec, node, copy->dstDevice, copy->srcDevice, copy->WidthInBytes, hipMemcpyDefault));
}

} // namespace

Status fill(cuda::DriverApi &api, const Lookup &lookup) {
  auto functions = std::make_unique<HipFunctions>();
  const char *missing = nullptr;
  auto find = [&](const char *name) {
    void *function = lookup(name);
    if (!function)
      missing = name;
    return function;
  };
#define TILEWRIGHT_HIP_SIGNATURE(name, parameters)                                                 \
  functions->name = reinterpret_cast<hip_api::signature::name *>(find(#name));
#include "tilewright/hip-api/Functions.def"
  functions->hipGetErrorName =
      reinterpret_cast<hip_api::signature::hipGetErrorName *>(find("hipGetErrorName"));
  functions->hipGetErrorString =
      reinterpret_cast<hip_api::signature::hipGetErrorString *>(find("hipGetErrorString"));
  if (missing)
    return Status(Error::cudaFunction,
                  concat("the HIP driver ", api.library(), " lacks ", missing,
                         " of HIP 6.0; install ROCm 6.0 or later, or use the virtual GPU: "
                         "TILEWRIGHT_TARGET=vgpu:gfx950"));
  // Other threads may still use the functions of an earlier call, so they are not freed.
  ofProcess.store(functions.release(), std::memory_order_release);
#define HIP_FORWARD(name, suffix, hipName)                                                         \
  api.name = &Forward<cu::name##suffix>::template call<&HipFunctions::hipName>;
#define HIP_ADAPTER(name, suffix, hipName) api.name = &name;
#define HIP_ABSENT(name, suffix) api.name = &Absent<cu::name##suffix>::call;
#include "tilewright/runtime/hip/Functions.def"
  return Status();
}

const char *nameOf(const char *function) {
#define HIP_FORWARD(name, suffix, hipName)                                                         \
  if (std::string_view(function) == #name)                                                         \
    return #hipName;
#define HIP_ADAPTER HIP_FORWARD
#define HIP_ABSENT(name, suffix)
#include "tilewright/runtime/hip/Functions.def"
  return function;
}

Result<std::string> chipOf(const cuda::DriverApi &api, int device) {
  hipDeviceProp_t properties = {};
  TILEWRIGHT_TRY(api.check(resultOf(driver().hipGetDevicePropertiesR0600(&properties, device)),
                           "hipGetDeviceProperties"));
  const std::string_view name(properties.gcnArchName,
                              strnlen(properties.gcnArchName, sizeof properties.gcnArchName));
  return std::string(name.substr(0, name.find(':')));
}

} // namespace tilewright::runtime::hip
