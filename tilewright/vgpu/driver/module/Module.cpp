#include "tilewright/vgpu/driver/module/Module.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/Memory.h"
#include "tilewright/vgpu/driver/Stream.h"
#include "tilewright/vgpu/driver/module/Binary.h"
#include "tilewright/vgpu/driver/module/PtxBinary.h"
#include "tilewright/vgpu/driver/observe/Summary.h"

#include <algorithm>
#include <cstring>
#include <fstream>

namespace tilewright::vgpu::driver {

void LoadedBinary::dropVariables() {
  for (uint64_t address : variables)
    takeOwned(address);
  variables.clear();
}

void LoadedBinary::addVariable(std::span<std::byte> variable) {
  if (variable.empty())
    return;
  OwnedMemory entry;
  entry.begin = reinterpret_cast<uint64_t>(variable.data());
  entry.bytes = variable.size();
  entry.kind = AllocationKind::variable;
  entry.device = &device;
  variables.push_back(entry.begin);
  addOwned(std::move(entry));
}

static CUresult resultOf(const Status &status) {
  if (!status.error())
    return CUDA_ERROR_INVALID_IMAGE;
  switch (*status.error()) {
  case Error::vgpuBinary:
    return CUDA_ERROR_INVALID_IMAGE;
  case Error::vgpuMachineCode:
  case Error::vgpuChip:
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  case Error::ptxLimit:
    return CUDA_ERROR_OUT_OF_MEMORY;
  case Error::ptxVersion:
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  default:
    return CUDA_ERROR_INVALID_PTX;
  }
}

static void writeLog(const LogBuffer &log, const std::string &text) {
  if (!log.text || log.bytes == 0)
    return;
  const size_t count = std::min(text.size(), log.bytes - 1);
  std::memcpy(log.text, text.data(), count);
  log.text[count] = 0;
  if (log.written)
    *log.written = count + 1;
}

CUresult refuseModule(const Status &status, const LogBuffer &log) {
  const std::string text = status.toString();
  writeLog(log, text);
  noteRefusal(concat("cannot load a module: ", text));
  return resultOf(status);
}

CUresult loadBinary(Device &device, std::span<const std::byte> image, const LogBuffer &log,
                    std::shared_ptr<LoadedBinary> &binary) {
  Result<std::string> text = ptxOf(image, *device.chip);
  if (!text.isOk())
    return refuseModule(std::move(text).takeStatus(), log);
  auto module = machine::LoadedModule::create(*text, device.chip->name);
  if (!module.isOk())
    return refuseModule(std::move(module).takeStatus(), log);
  binary = std::make_shared<PtxBinary>(device, *std::move(module), *text);
  return CUDA_SUCCESS;
}

void forgetFunctions(LoadedBinary &binary) {
  Driver::get().functions.takeIf([&](const Function &one) { return one.binary.get() == &binary; });
  // The functions and their module own each other; this breaks the cycle.
  std::lock_guard lock(binary.mutex);
  binary.functions.clear();
}

void releaseContextObjects(Context &context) {
  Driver &driver = Driver::get();
  auto isHere = [&](const std::weak_ptr<Context> &one) { return one.lock().get() == &context; };
  for (const auto &binary :
       driver.modules.takeIf([&](const LoadedBinary &one) { return isHere(one.context); }))
    forgetFunctions(*binary);
  driver.events.takeIf([&](const Event &one) { return isHere(one.context); });
  releaseMemoryOf(context);
}

CUresult functionOf(const std::shared_ptr<LoadedBinary> &binary, std::string_view name,
                    std::shared_ptr<Function> &function) {
  std::lock_guard lock(binary->mutex);
  if (auto found = binary->functions.find(name); found != binary->functions.end()) {
    function = found->second;
    return CUDA_SUCCESS;
  }
  function = std::make_shared<Function>();
  function->name = name;
  function->binary = binary;
  VGPU_TRY(binary->describe(name, *function));
  Driver::get().functions.add(function);
  binary->functions.emplace(name, function);
  return CUDA_SUCCESS;
}

CUresult needFunction(const void *handle, const Device &device,
                      std::shared_ptr<Function> &function) {
  function = Driver::get().functions.find(handle);
  if (!function)
    return fail(CUDA_ERROR_INVALID_HANDLE, "invalid function, or its module was unloaded");
  if (!function->binary)
    function = function->perDevice[static_cast<size_t>(device.ordinal)];
  if (!function)
    return fail(CUDA_ERROR_INVALID_HANDLE, "the library has no code for this device");
  if (&function->binary->device != &device)
    return fail(CUDA_ERROR_INVALID_HANDLE,
                concat("the function belongs to a module on device ",
                       function->binary->device.ordinal, ", but the stream belongs to device ",
                       device.ordinal));
  return CUDA_SUCCESS;
}

CUresult getParameter(const Function &function, size_t index, size_t *offset, size_t *size) {
  VGPU_NEED(index < function.parameters.size());
  *offset = function.parameters[index].offset;
  if (size)
    *size = function.parameters[index].size;
  return CUDA_SUCCESS;
}

CUresult getAttribute(const Function &function, CUfunction_attribute attribute, int &value) {
  auto give = [&](auto number) {
    value = static_cast<int>(number);
    return CUDA_SUCCESS;
  };
  const machine::Chip &chip = *function.binary->device.chip;
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    // Limited by the number of registers.
    return give(std::min(function.maxThreads,
                         chip.registersPerBlock / ((function.registers + 7) / 8 * 8) / 32 * 32));
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    return give(function.staticShared);
  case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    return give(function.constBytes);
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    return give(function.localBytes);
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    return give(function.registers);
  case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    return give(function.ptxVersion);
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    return give(chip.architecture);
  case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    return give(0);
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    return give(function.maxDynamicShared.load());
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    return give(function.carveout.load());
  case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    return give(0);
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    return give(function.requiredCluster[static_cast<size_t>(
        attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH)]);
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    return give(function.nonPortableCluster.load());
  case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    return give(function.schedulingPolicy.load());
  }
  return fail(CUDA_ERROR_INVALID_VALUE, concat("unknown function attribute ", int(attribute)));
}

CUresult setAttribute(Function &function, CUfunction_attribute attribute, int value) {
  const machine::Chip &chip = *function.binary->device.chip;
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    if (value < 0 ||
        uint64_t(function.staticShared) + static_cast<unsigned>(value) > chip.sharedPerBlockOptin)
      return fail(CUDA_ERROR_INVALID_VALUE,
                  concat(value, " bytes of dynamic and ", function.staticShared,
                         " bytes of static shared memory exceed the ", chip.sharedPerBlockOptin,
                         " bytes per block of ", chip.name));
    function.maxDynamicShared = static_cast<uint32_t>(value);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    VGPU_NEED(value >= -1 && value <= 100);
    function.carveout = value;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    function.nonPortableCluster = value;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    VGPU_NEED(value >= 0 && value <= 2);
    function.schedulingPolicy = value;
    return CUDA_SUCCESS;
  default:
    return fail(CUDA_ERROR_INVALID_VALUE,
                concat("function attribute ", int(attribute), " cannot be set"));
  }
}

} // namespace tilewright::vgpu::driver
