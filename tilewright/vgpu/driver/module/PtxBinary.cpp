#include "tilewright/vgpu/driver/module/PtxBinary.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Launch.h"
#include "tilewright/vgpu/driver/Work.h"
#include "tilewright/vgpu/driver/observe/Observe.h"
#include "tilewright/vgpu/driver/observe/ObserveCheck.h"
#include "tilewright/vgpu/driver/observe/Summary.h"
#include "tilewright/vgpu/machine/Launch.h"

#include <algorithm>
#include <charconv>

namespace tilewright::vgpu::driver {

using machine::Chip;

/// Parses the lines that our ptxas appends to the text:
/// "// ptxas: kernel NAME registers N spills N".
static std::map<std::string, PtxasFacts, std::less<>> readFacts(std::string_view text) {
  constexpr std::string_view mark = "// ptxas: kernel ";
  std::map<std::string, PtxasFacts, std::less<>> facts;
  for (size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + 1)) {
    std::string_view line = text.substr(at + mark.size());
    line = line.substr(0, line.find('\n'));
    auto numberBehind = [&](std::string_view word) {
      uint32_t number = 0;
      if (size_t found = line.find(word); found != std::string_view::npos)
        std::from_chars(line.data() + found + word.size(), line.data() + line.size(), number);
      return number;
    };
    facts[std::string(line.substr(0, line.find(' ')))] = {numberBehind(" registers "),
                                                          numberBehind(" spills ")};
  }
  return facts;
}

PtxBinary::PtxBinary(Device &device, std::unique_ptr<machine::LoadedModule> loaded,
                     std::string_view text)
    : LoadedBinary(device), module(std::move(loaded)), facts(readFacts(text)) {
  for (std::span<std::byte> variable : module->variables())
    addVariable(variable);
}

std::vector<std::string> PtxBinary::kernelNames() const {
  std::vector<std::string> names;
  const ptx::Module &source = module->source();
  for (const ptx::Function &function : source.functions)
    if (function.entry && function.defined)
      names.emplace_back(source.name(function.name));
  return names;
}

/// The number of registers per thread, as reported by ptxas or else estimated from the machine's
/// register slots: like a compiler, the machine lets registers with disjoint live intervals share a
/// slot. Hardware allocates registers in multiples of 8.
uint32_t PtxBinary::registersOf(const machine::Program &program) const {
  const machine::DecodedFunction &entry = program.entry();
  if (auto found = facts.find(entry.name); found != facts.end() && found->second.registers)
    return found->second.registers;
  constexpr uint32_t bytesOfRegister = 32 * 4, least = 16, most = 255;
  const auto bytes = entry.frameBytes - static_cast<uint32_t>(entry.constants.size());
  const uint32_t limit = entry.source->performance.maxnreg;
  const uint32_t wanted = std::clamp((bytes / bytesOfRegister + 7) / 8 * 8, least, most);
  return limit ? std::min(wanted, limit) : wanted;
}

CUresult PtxBinary::describe(std::string_view name, Function &function) {
  Result<const machine::Program *> program = module->kernel(name, {});
  if (!program.isOk())
    return fail(CUDA_ERROR_NOT_FOUND, std::move(program).takeStatus().toString());
  const machine::Program &kernel = **program;
  const ptx::Performance &wanted = kernel.entry().source->performance;
  auto threads = [](const std::array<uint32_t, 3> &dim) {
    return std::max(dim[0], 1u) * std::max(dim[1], 1u) * std::max(dim[2], 1u);
  };
  function.staticShared = kernel.staticSharedBytes;
  function.registers = registersOf(kernel);
  for (const auto &part : kernel.functions)
    function.localBytes += part->localBytes;
  if (auto found = facts.find(name); found != facts.end())
    function.localBytes = std::max(function.localBytes, found->second.spillBytes);
  function.maxThreads = wanted.reqntid[0]   ? threads(wanted.reqntid)
                        : wanted.maxntid[0] ? threads(wanted.maxntid)
                                            : machine::Chip::threadsPerBlock;
  function.maxThreads = std::min(function.maxThreads, machine::Chip::threadsPerBlock);
  for (const ptx::Variable &variable : module->source().variables)
    if (variable.space == ptx::Modifier::constant)
      function.constBytes += static_cast<uint32_t>(variable.size());
  function.ptxVersion = static_cast<int>(module->source().version);
  function.requiredCluster = wanted.reqnctapercluster;
  for (size_t i = 0; i < kernel.parameterSizes.size(); ++i)
    function.parameters.push_back({kernel.parameterOffsets[i], kernel.parameterSizes[i]});
  function.parameterBytes = kernel.parameterBytes;
  const uint32_t normal = device.chip->sharedPerBlock;
  function.maxDynamicShared = normal - std::min(normal, function.staticShared);
  return CUDA_SUCCESS;
}

Result<std::span<std::byte>> PtxBinary::variable(std::string_view name) {
  return module->variable(name);
}

CUresult PtxBinary::check(const KernelWork &work) const {
  const Function &function = *work.function;
  const Chip &chip = *device.chip;
  auto refuse = [&](CUresult code, auto... parts) {
    return fail(code, concat("kernel ", function.name, ": ", parts...));
  };
  const uint64_t threads = volume(work.block);
  if (work.grid[0] > Chip::gridX || work.grid[1] > Chip::gridY || work.grid[2] > Chip::gridZ)
    return refuse(CUDA_ERROR_INVALID_VALUE, "grid ", listed(work.grid), " exceeds the limits [",
                  Chip::gridX, ", ", Chip::gridY, ", ", Chip::gridZ, "]");
  if (work.block[0] > Chip::blockX || work.block[1] > Chip::blockY ||
      work.block[2] > Chip::blockZ || threads > function.maxThreads)
    return refuse(CUDA_ERROR_INVALID_VALUE, "block ", listed(work.block), " exceeds the ",
                  function.maxThreads, " threads that the kernel is compiled for");
  if ((function.registers + 7) / 8 * 8 * ((threads + 31) / 32 * 32) > chip.registersPerBlock)
    return refuse(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, threads, " threads with ", function.registers,
                  " registers each exceed the ", chip.registersPerBlock, " registers of a block");
  if (work.dynamicShared > function.maxDynamicShared)
    return refuse(CUDA_ERROR_INVALID_VALUE, work.dynamicShared,
                  " bytes of dynamic shared memory exceed the limit of ",
                  function.maxDynamicShared.load(), "; cuFuncSetAttribute can raise it to ",
                  chip.sharedPerBlockOptin - function.staticShared);
  const std::array<uint32_t, 3> &required = function.requiredCluster;
  std::array<uint32_t, 3> cluster = work.cluster[0] ? work.cluster : required;
  if (required[0] && work.cluster[0])
    for (size_t i = 0; i < 3; ++i)
      if (std::max(required[i], 1u) != work.cluster[i])
        return refuse(CUDA_ERROR_INVALID_VALUE, "cluster ", listed(work.cluster),
                      " does not match the cluster that the kernel is compiled for, ",
                      listed(required));
  if (cluster[0]) {
    for (uint32_t &size : cluster)
      size = std::max(size, 1u);
    const uint64_t blocks = volume(cluster);
    const uint32_t most =
        function.nonPortableCluster ? chip.clusterBlocksNonPortable : chip.clusterBlocks;
    if (blocks > most && (blocks > 1 || chip.clusterBlocks))
      return refuse(CUDA_ERROR_INVALID_CLUSTER_SIZE, "a cluster of ", blocks,
                    " blocks exceeds the maximum of ", most,
                    blocks <= chip.clusterBlocksNonPortable
                        ? "; set CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED to allow more"
                        : "");
    for (size_t i = 0; i < 3; ++i)
      if (work.grid[i] % cluster[i] != 0)
        return refuse(CUDA_ERROR_INVALID_VALUE, "grid ", listed(work.grid),
                      " is not a multiple of cluster ", listed(cluster));
  }
  if (work.cooperative) {
    const uint64_t most =
        uint64_t(residentBlocks(function, static_cast<unsigned>(threads), work.dynamicShared)) *
        chip.multiprocessors;
    if (volume(work.grid) > most)
      return refuse(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "grid ", listed(work.grid),
                    " has more blocks than the ", most, " that can be resident at once");
  }
  return CUDA_SUCCESS;
}

Status PtxBinary::launch(Context &context, const KernelWork &work, const std::atomic<bool> &stop) {
  static std::atomic<uint64_t> launches = 0;
  Driver &driver = Driver::get();
  const Function &function = *work.function;
  machine::LaunchConfig config;
  config.grid = work.grid;
  config.block = work.block;
  config.cluster = work.cluster;
  config.dynamicSharedBytes = work.dynamicShared;
  config.cooperative = work.cooperative;
  config.arithmetic = driver.settings.arithmetic;
  config.completion = driver.settings.completion;
  config.seed = driver.settings.seed;
  config.catchesFaults = true;
  config.checksAddresses = !driver.settings.usesHostMemory;
  config.accessor = accessorOf(context);
  config.order = currentOrder(function.binary);
  config.suppressesInvalid = areBoundsChecked();
  config.timeLimit = driver.settings.timeLimit;
  config.stop = &stop;
  config.pool = driver.pool.get();
  std::vector<const void *> arguments;
  std::vector<std::span<const std::byte>> parameters;
  for (const ParameterInfo &parameter : function.parameters) {
    parameters.emplace_back(work.parameters.data() + parameter.offset, parameter.size);
    arguments.push_back(parameters.back().data());
  }

  const LaunchFacts launch{*module,
                           function.name,
                           config,
                           context.device.ordinal,
                           0,
                           ++launches,
                           driver.settings.countDirectory,
                           parameters};
  std::unique_ptr<Observation> observation = startObservation(driver.settings.checks, launch);
  if (observation)
    config.observer = &observation->observer();
  return endObservation(observation.get(),
                        machine::launch(*module, function.name, config, arguments));
}

} // namespace tilewright::vgpu::driver
