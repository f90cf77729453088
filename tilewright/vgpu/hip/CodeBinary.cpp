#include "tilewright/vgpu/hip/CodeBinary.h"

#include "tilewright/hip-api/HipTypes.h"
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/amdgcn/execute/Launch.h"
#include "tilewright/vgpu/driver/Launch.h"
#include "tilewright/vgpu/driver/observe/ObserveCheck.h"
#include "tilewright/vgpu/driver/observe/Order.h"
#include "tilewright/vgpu/driver/observe/Summary.h"

#include <algorithm>
#include <limits>

namespace tilewright::vgpu::hip {

using namespace cuda_api;
using namespace hip_api;
using chips::AmdChip;
using driver::fail;
using driver::Function;
using driver::KernelWork;
using driver::volume;

static bool isVariable(const amdgcn::Symbol &symbol) {
  return !symbol.isFunction && !symbol.isLabel && symbol.section != 0 && symbol.size != 0 &&
         !symbol.name.ends_with(".kd"); // a kernel descriptor
}

static std::span<std::byte> memoryOf(const amdgcn::LoadedObject &object,
                                     const amdgcn::Symbol &symbol) {
  return {reinterpret_cast<std::byte *>(object.loadAddress() + symbol.address), symbol.size};
}

CodeBinary::CodeBinary(driver::Device &device, std::unique_ptr<amdgcn::LoadedObject> loaded)
    : LoadedBinary(device), object(std::move(loaded)) {
  uint64_t end = 0; // symbols are sorted by address; several may name the same memory
  for (const amdgcn::Symbol &symbol : object->object().symbols)
    if (isVariable(symbol) && symbol.address >= end) {
      addVariable(memoryOf(*object, symbol));
      end = symbol.address + symbol.size;
    }
}

std::vector<std::string> CodeBinary::kernelNames() const {
  std::vector<std::string> names;
  for (const amdgcn::Kernel &kernel : object->object().kernels)
    names.emplace_back(kernel.name);
  return names;
}

CUresult CodeBinary::describe(std::string_view name, Function &function) {
  if (Status status = object->program(name).takeStatus(); !status.isOk()) {
    if (status.error() == Error::vgpuSymbol)
      return fail(CUDA_ERROR_NOT_FOUND, status.toString());
    driver::noteRefusal(concat("cannot load kernel ", name, ": ", status.toString()));
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  const amdgcn::Kernel &kernel = *object->object().find(name);
  function.staticShared = kernel.descriptor.ldsBytes;
  function.localBytes = kernel.descriptor.scratchBytesPerLane;
  function.registers = kernel.descriptor.vgprs();
  function.maxThreads =
      kernel.maxWorkgroupSize ? kernel.maxWorkgroupSize : AmdChip::threadsPerBlock;
  for (const amdgcn::KernelArgument &argument : kernel.arguments) {
    if (argument.valueKind.starts_with("hidden_"))
      continue;
    function.parameters.push_back({argument.offset, argument.size});
    function.parameterBytes = std::max(function.parameterBytes, argument.offset + argument.size);
  }
  // HIP programs need not opt in to more LDS than the default, unlike CUDA programs.
  function.maxDynamicShared =
      device.amd->ldsPerUnit - std::min(device.amd->ldsPerUnit, function.staticShared);
  return CUDA_SUCCESS;
}

Result<std::span<std::byte>> CodeBinary::variable(std::string_view name) {
  for (const amdgcn::Symbol &symbol : object->object().symbols)
    if (symbol.name == name && isVariable(symbol))
      return memoryOf(*object, symbol);
  return Status(Error::vgpuSymbol, concat("the code object has no variable '", name, "'"));
}

unsigned residentBlocks(const Function &function, unsigned threads, size_t dynamicLds) {
  const AmdChip &chip = *function.binary->device.amd;
  const uint64_t lds = function.staticShared + dynamicLds;
  if (threads == 0 || threads > function.maxThreads || lds > chip.ldsPerUnit)
    return 0;
  const uint32_t granule = AmdChip::registerGranule;
  const uint32_t registers = (std::max(function.registers, 1u) + granule - 1) / granule * granule;
  const uint32_t wavesPerSimd =
      std::min(chip.wavesPerUnit / AmdChip::simdsPerUnit, AmdChip::registersPerSimd / registers);
  const uint32_t waves = (threads + AmdChip::waveSize - 1) / AmdChip::waveSize;
  const uint32_t byWaves = wavesPerSimd * AmdChip::simdsPerUnit / waves;
  return lds == 0 ? byWaves : std::min(byWaves, static_cast<uint32_t>(chip.ldsPerUnit / lds));
}

CUresult CodeBinary::check(const KernelWork &work) const {
  const Function &function = *work.function;
  constexpr auto invalid = static_cast<CUresult>(hipErrorInvalidConfiguration);
  auto refuse = [&](CUresult code, auto... parts) {
    return fail(code, concat("kernel ", function.name, ": ", parts...));
  };
  if (work.grid[0] > AmdChip::gridX || work.grid[1] > AmdChip::gridY ||
      work.grid[2] > AmdChip::gridZ)
    return refuse(invalid, "grid ", listed(work.grid), " exceeds the limits [", AmdChip::gridX,
                  ", ", AmdChip::gridY, ", ", AmdChip::gridZ, "]");
  const uint64_t threads = volume(work.block);
  if (std::ranges::max(work.block) > AmdChip::threadsPerBlock || threads > function.maxThreads)
    return refuse(invalid, "block ", listed(work.block), " exceeds the ", function.maxThreads,
                  " work-items that the kernel is compiled for");
  // The dispatch packet counts them with 32 bits.
  constexpr uint64_t maxItems = std::numeric_limits<uint32_t>::max();
  for (size_t axis = 0; axis < 3; ++axis)
    if (const uint64_t items = uint64_t(work.grid[axis]) * work.block[axis]; items > maxItems)
      return refuse(invalid, "grid ", listed(work.grid), " of blocks ", listed(work.block), " has ",
                    items, " work-items in dimension ", axis, ", but a launch has at most ",
                    maxItems);
  const uint64_t lds = uint64_t(function.staticShared) + work.dynamicShared;
  if (lds > device.amd->ldsPerUnit)
    return refuse(invalid, "a workgroup needs ", lds, " bytes of LDS, but ", device.amd->name,
                  " has ", device.amd->ldsPerUnit);
  if (work.cluster[0] > 1 || work.cluster[1] > 1 || work.cluster[2] > 1)
    return refuse(CUDA_ERROR_NOT_SUPPORTED, device.amd->name, " has no clusters");
  if (work.cooperative && volume(work.grid) > 1)
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "workgroups run one after the other, so a cooperative launch may have only one");
  return CUDA_SUCCESS;
}

/// The memory that a device may currently access.
static std::vector<amdgcn::MemoryRange> accessibleTo(const machine::Accessor &accessor) {
  std::vector<amdgcn::MemoryRange> ranges;
  // The loop's range must keep the snapshot alive: another thread may allocate meanwhile.
  const std::shared_ptr<const machine::AllocationTable> table = machine::allocations().snapshot();
  for (const machine::Allocation &one : table->all())
    if (one.kind != machine::AllocationKind::home && accessor.mayAccess(one))
      ranges.push_back({one.begin, one.end});
  return ranges;
}

static amdgcn::Completion completionOf(machine::Completion completion) {
  switch (completion) {
  case machine::Completion::eager:
    return amdgcn::Completion::eager;
  case machine::Completion::latest:
    return amdgcn::Completion::latest;
  case machine::Completion::seeded:
    return amdgcn::Completion::seeded;
  }
  return amdgcn::Completion::eager;
}

Status CodeBinary::launch(driver::Context &context, const KernelWork &work,
                          const std::atomic<bool> &stop) {
  const driver::Settings &settings = driver::Driver::get().settings;
  amdgcn::LaunchConfig config;
  config.grid = work.grid;
  config.block = work.block;
  config.dynamicLdsBytes = work.dynamicShared;
  if (!settings.usesHostMemory) {
    config.memory = accessibleTo(accessorOf(context));
    config.memory.push_back({0, 0}); // an empty list would allow all memory
  }
  config.completion = completionOf(settings.completion);
  config.seed = settings.seed;
  config.maxBranches = 0; // `timeLimit` and Ctrl-C end endless kernels
  config.timeLimit = settings.timeLimit;
  config.stop = &stop;
  config.pool = driver::Driver::get().pool.get();
  std::unique_ptr<driver::Observation> observation = driver::startChecking();
  if (observation) {
    config.observer = &observation->observer();
    config.order = driver::currentOrder(work.function->binary);
    config.device = context.device.ordinal;
  }
  return driver::endObservation(
      observation.get(), amdgcn::launch(*object, work.function->name, config, work.parameters));
}

} // namespace tilewright::vgpu::hip
