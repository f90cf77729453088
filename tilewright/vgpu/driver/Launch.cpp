#include "tilewright/vgpu/driver/Launch.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Functions.h"

#include <cstring>

namespace tilewright::vgpu::driver {

CUresult takeArguments(const Function &function, void **values, void **extra,
                       std::vector<std::byte> &parameters) {
  parameters.assign(function.parameterBytes, std::byte(0));
  if (extra) {
    const std::byte *buffer = nullptr;
    size_t bytes = 0;
    for (; *extra != launchParamEnd; extra += 2)
      if (*extra == launchParamBufferPointer)
        buffer = static_cast<const std::byte *>(extra[1]);
      else if (*extra == launchParamBufferSize)
        bytes = *static_cast<const size_t *>(extra[1]);
      else
        return fail(CUDA_ERROR_INVALID_VALUE, "`extra` has an unknown key");
    VGPU_NEED(!values && (buffer || function.parameters.empty()));
    // The buffer may end after the last parameter, without padding.
    size_t least = 0;
    for (const ParameterInfo &one : function.parameters)
      least = std::max(least, one.offset + one.size);
    if (bytes < least)
      return fail(CUDA_ERROR_INVALID_VALUE,
                  concat("`extra` has ", bytes, " bytes of arguments, but ", function.name,
                         " takes ", least));
    std::memcpy(parameters.data(), buffer, std::min(bytes, parameters.size()));
    return CUDA_SUCCESS;
  }
  VGPU_NEED(values || function.parameters.empty());
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    if (!values[i])
      return fail(CUDA_ERROR_INVALID_VALUE,
                  concat("the pointer to argument ", i, " of ", function.name, " is null"));
    std::memcpy(parameters.data() + function.parameters[i].offset, values[i],
                function.parameters[i].size);
  }
  return CUDA_SUCCESS;
}

CUresult checkLaunch(const KernelWork &work) {
  const Function &function = *work.function;
  if (volume(work.grid) == 0 || volume(work.block) == 0)
    return fail(CUDA_ERROR_INVALID_VALUE,
                concat("kernel ", function.name, ": grid ", listed(work.grid), " of blocks ",
                       listed(work.block), " has no threads"));
  return function.binary->check(work);
}

CUresult takeAttribute(CUlaunchAttributeID attribute, const CUlaunchAttributeValue &value,
                       LaunchAttributes &work) {
  switch (attribute) {
  case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    work.cooperative = value.cooperative != 0;
    return CUDA_SUCCESS;
  case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    VGPU_NEED(value.clusterDim.x && value.clusterDim.y && value.clusterDim.z);
    work.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
    return CUDA_SUCCESS;
  case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    work.programmatic = value.programmaticStreamSerializationAllowed != 0;
    return CUDA_SUCCESS;
  case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    work.priority = value.priority;
    return CUDA_SUCCESS;
  case CU_LAUNCH_ATTRIBUTE_IGNORE:
  case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
  case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
  case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
  case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
  case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
  case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
  case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    return CUDA_SUCCESS; // hints about caches and order, which do not change results
  case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
  case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
  case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
    return fail(CUDA_ERROR_NOT_SUPPORTED,
                concat("launch attribute ", int(attribute), " is not supported"));
  }
  return fail(CUDA_ERROR_INVALID_VALUE, concat("unknown launch attribute ", int(attribute)));
}

CUresult makeLaunch(const CUlaunchConfig &config, const std::shared_ptr<Function> &function,
                    void **values, void **extra, KernelWork &work) {
  VGPU_NEED(config.attrs || config.numAttrs == 0);
  work.function = function;
  work.grid = {config.gridDimX, config.gridDimY, config.gridDimZ};
  work.block = {config.blockDimX, config.blockDimY, config.blockDimZ};
  work.dynamicShared = config.sharedMemBytes;
  for (unsigned i = 0; i < config.numAttrs; ++i)
    VGPU_TRY(takeAttribute(config.attrs[i].id, config.attrs[i].value, work));
  VGPU_TRY(checkLaunch(work));
  return takeArguments(*function, values, extra, work.parameters);
}

namespace api {

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction handle, void **kernelParams,
                          void **extra) {
  VGPU_NEED(config);
  std::shared_ptr<Stream> stream;
  VGPU_TRY(needStream(config->hStream, stream));
  std::shared_ptr<Function> function;
  VGPU_TRY(needFunction(handle, stream->context->device, function));
  KernelWork work;
  VGPU_TRY(makeLaunch(*config, function, kernelParams, extra, work));
  return submit(stream, std::move(work));
}

CUresult cuLaunchKernel(CUfunction function, unsigned gridDimX, unsigned gridDimY,
                        unsigned gridDimZ, unsigned blockDimX, unsigned blockDimY,
                        unsigned blockDimZ, unsigned sharedMemBytes, CUstream stream,
                        void **kernelParams, void **extra) {
  const CUlaunchConfig config{gridDimX,  gridDimY,       gridDimZ, blockDimX, blockDimY,
                              blockDimZ, sharedMemBytes, stream,   nullptr,   0};
  return cuLaunchKernelEx(&config, function, kernelParams, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gridDimX, unsigned gridDimY,
                                   unsigned gridDimZ, unsigned blockDimX, unsigned blockDimY,
                                   unsigned blockDimZ, unsigned sharedMemBytes, CUstream stream,
                                   void **kernelParams) {
  CUlaunchAttribute cooperative{CU_LAUNCH_ATTRIBUTE_COOPERATIVE, {}, {}};
  cooperative.value.cooperative = 1;
  const CUlaunchConfig config{gridDimX,  gridDimY,       gridDimZ, blockDimX,    blockDimY,
                              blockDimZ, sharedMemBytes, stream,   &cooperative, 1};
  return cuLaunchKernelEx(&config, function, kernelParams, nullptr);
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *userData) {
  VGPU_NEED(function);
  std::shared_ptr<Stream> stream;
  VGPU_TRY(needStream(handle, stream));
  return submit(stream, HostWork{function, userData});
}

} // namespace api
} // namespace tilewright::vgpu::driver
