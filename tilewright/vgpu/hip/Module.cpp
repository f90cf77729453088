// Modules, launches, attributes of kernels, occupancy.
#include "tilewright/vgpu/driver/module/Module.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/module/JitOptions.h"
#include "tilewright/vgpu/hip/Calls.h"
#include "tilewright/vgpu/hip/CodeBinary.h"

#include <algorithm>

namespace tilewright::vgpu::hip {

using chips::AmdChip;
using driver::Function;

static CUresult load(CUmodule *module, std::span<const std::byte> image,
                     const driver::LogBuffer &log) {
  std::shared_ptr<Context> context;
  VGPU_TRY(driver::needContext(context));
  Result<std::unique_ptr<amdgcn::LoadedObject>> object =
      amdgcn::LoadedObject::load(image, amdgcn::findChip(context->device.amd->name));
  if (!object.isOk())
    return driver::refuseModule(std::move(object).takeStatus(), log);
  auto binary = std::make_shared<CodeBinary>(context->device, *std::move(object));
  binary->context = context;
  *module = static_cast<CUmodule>(driver::Driver::get().modules.add(binary));
  return CUDA_SUCCESS;
}

CUresult loadFile(CUmodule *module, const char *path) {
  VGPU_NEED(module && path);
  std::string content;
  VGPU_TRY(driver::readFile(path, content));
  return load(module, std::as_bytes(std::span(content)), {});
}

CUresult loadData(CUmodule *module, const void *image, unsigned count, CUjit_option *options,
                  void **values) {
  VGPU_NEED(module && image && (count == 0 || (options && values)));
  const driver::LogBuffer log = driver::errorLog(count, options, values);
  Result<std::span<const std::byte>> bytes = amdgcn::imageAt(image);
  return bytes.isOk() ? load(module, *bytes, log)
                      : driver::refuseModule(std::move(bytes).takeStatus(), log);
}

std::vector<void *> extraOf(void **extra) {
  // HIP terminates the list of extra arguments with 3, CUDA with 0.
  constexpr uintptr_t endOfExtra = 3;
  std::vector<void *> list;
  if (!extra)
    return list;
  for (; *extra && reinterpret_cast<uintptr_t>(*extra) != endOfExtra; extra += 2)
    list.insert(list.end(), {extra[0], extra[1]});
  list.push_back(nullptr);
  return list;
}

CUresult launch(const CUlaunchConfig &config, CUfunction function, void **values, void **extra) {
  std::vector<void *> list = extraOf(extra);
  return api::cuLaunchKernelEx(&config, function, values, list.empty() ? nullptr : list.data());
}

CUresult launchCooperative(CUlaunchConfig config, CUfunction function, void **values) {
  CUlaunchAttribute cooperative{CU_LAUNCH_ATTRIBUTE_COOPERATIVE, {}, {}};
  cooperative.value.cooperative = 1;
  config.attrs = &cooperative;
  config.numAttrs = 1;
  return launch(config, function, values, nullptr);
}

CUresult launchExt(dim3 workItems, dim3 block, size_t lds, CUstream stream, CUfunction function,
                   void **values, void **extra, CUevent start, CUevent stop) {
  VGPU_NEED(block.x && block.y && block.z);
  VGPU_NEED(workItems.x % block.x == 0 && workItems.y % block.y == 0 && workItems.z % block.z == 0);
  if (start)
    VGPU_TRY(api::cuEventRecord(start, stream));
  VGPU_TRY(launch({workItems.x / block.x, workItems.y / block.y, workItems.z / block.z, block.x,
                   block.y, block.z, static_cast<unsigned>(lds), stream, nullptr, 0},
                  function, values, extra));
  return stop ? api::cuEventRecord(stop, stream) : CUDA_SUCCESS;
}

static CUresult needFunction(CUfunction handle, std::shared_ptr<Function> &function) {
  Device *device = nullptr;
  VGPU_TRY(driver::needDevice(currentDevice(), device));
  return driver::needFunction(handle, *device, function);
}

CUresult getFunctionAttributes(hipFuncAttributes *attributes, CUfunction handle) {
  VGPU_NEED(attributes);
  std::shared_ptr<Function> function;
  VGPU_TRY(needFunction(handle, function));
  *attributes = {.binaryVersion = 0,
                 .cacheModeCA = 0,
                 .constSizeBytes = function->constBytes,
                 .localSizeBytes = function->localBytes,
                 .maxDynamicSharedSizeBytes = static_cast<int>(function->maxDynamicShared),
                 .maxThreadsPerBlock = static_cast<int>(function->maxThreads),
                 .numRegs = static_cast<int>(function->registers),
                 .preferredShmemCarveout = function->carveout,
                 .ptxVersion = 0,
                 .sharedSizeBytes = function->staticShared};
  return CUDA_SUCCESS;
}

CUresult getFunctionAttribute(int *value, int attribute, CUfunction handle) {
  VGPU_NEED(value);
  hipFuncAttributes all;
  VGPU_TRY(getFunctionAttributes(&all, handle));
  const size_t values[] = {size_t(all.maxThreadsPerBlock),
                           all.sharedSizeBytes,
                           all.constSizeBytes,
                           all.localSizeBytes,
                           size_t(all.numRegs),
                           size_t(all.ptxVersion),
                           size_t(all.binaryVersion),
                           size_t(all.cacheModeCA),
                           size_t(all.maxDynamicSharedSizeBytes),
                           size_t(all.preferredShmemCarveout)};
  VGPU_NEED(attribute >= 0 && size_t(attribute) < std::size(values));
  *value = static_cast<int>(values[attribute]);
  return CUDA_SUCCESS;
}

CUresult setFunctionAttribute(CUfunction handle, int attribute, int value) {
  std::shared_ptr<Function> function;
  VGPU_TRY(needFunction(handle, function));
  constexpr int maxDynamicLds = 8, carveout = 9;
  if (attribute == carveout) {
    function->carveout = value;
    return CUDA_SUCCESS;
  }
  VGPU_NEED(attribute == maxDynamicLds);
  const AmdChip &chip = *function->binary->device.amd;
  if (value < 0 || uint64_t(value) + function->staticShared > chip.ldsPerUnit)
    return fail(CUDA_ERROR_INVALID_VALUE,
                concat(value, " bytes of dynamic and ", function->staticShared,
                       " bytes of static LDS exceed the ", chip.ldsPerUnit, " bytes of ",
                       chip.name));
  function->maxDynamicShared = static_cast<uint32_t>(value);
  return CUDA_SUCCESS;
}

CUresult activeBlocks(int *blocks, CUfunction handle, int blockSize, size_t dynamicLds) {
  VGPU_NEED(blocks && blockSize > 0);
  std::shared_ptr<Function> function;
  VGPU_TRY(needFunction(handle, function));
  *blocks =
      static_cast<int>(residentBlocks(*function, static_cast<unsigned>(blockSize), dynamicLds));
  return CUDA_SUCCESS;
}

CUresult bestBlockSize(int *gridSize, int *blockSize, CUfunction handle, size_t dynamicLds,
                       int limit) {
  VGPU_NEED(gridSize && blockSize && limit >= 0);
  std::shared_ptr<Function> function;
  VGPU_TRY(needFunction(handle, function));
  const unsigned most =
      limit ? std::min(function->maxThreads, static_cast<unsigned>(limit)) : function->maxThreads;
  unsigned best = 0, bestThreads = 0;
  // Largest blocks first, so that among equal occupancies the largest block wins.
  for (unsigned threads = most; threads != 0;
       threads = (threads - 1) / AmdChip::waveSize * AmdChip::waveSize) {
    const unsigned blocks = residentBlocks(*function, threads, dynamicLds);
    if (blocks * threads > best * bestThreads) {
      best = blocks;
      bestThreads = threads;
    }
  }
  *blockSize = static_cast<int>(bestThreads);
  *gridSize = static_cast<int>(best * function->binary->device.amd->computeUnits);
  return CUDA_SUCCESS;
}

} // namespace tilewright::vgpu::hip
