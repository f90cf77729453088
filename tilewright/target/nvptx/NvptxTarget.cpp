#include "tilewright/target/nvptx/NvptxTarget.h"

#include "tilewright/interpret/evaluate/TileScalars.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/TargetName.h"
#include "tilewright/support/store/FileCache.h"
#include "tilewright/target/Passes.h"
#include "tilewright/target/nvptx/Chip.h"
#include "tilewright/target/nvptx/GenerateCode.h"
#include "tilewright/target/nvptx/Passes.h"
#include "tilewright/target/nvptx/Ptxas.h"

#include <algorithm>
#include <optional>

using namespace mlir;

namespace tilewright::nvptx {
namespace {

using numerics::ElementType;

artifact::TensorMap tensorMapOf(const TensorMapInfo &info) {
  artifact::TensorMap map;
  map.buffer = static_cast<artifact::Index>(info.argument);
  map.element = interpret::signlessTypeOf(info.elementType).value_or(ElementType::f32);
  map.dims = info.dims;
  map.byteStrides = info.byteStrides;
  map.box = info.box;
  map.elementStrides = info.elementStrides;
  using Swizzle = artifact::TensorMap::Swizzle;
  map.swizzle = info.swizzleBytes == 16   ? Swizzle::none // the chunks of a line are 16 bytes
                : info.swizzleBytes == 32 ? Swizzle::bytes32
                : info.swizzleBytes == 64 ? Swizzle::bytes64
                                          : Swizzle::bytes128;
  map.promotion = artifact::TensorMap::L2Promotion::bytes256;
  return map;
}

artifact::GpuLaunch launchOf(const KernelInfo &kernel) {
  artifact::GpuLaunch launch;
  for (size_t i = 0; i < 3; ++i) {
    launch.grid[i] = static_cast<uint32_t>(kernel.grid[i]);
    launch.cluster[i] = static_cast<uint32_t>(kernel.cluster[i]);
  }
  launch.block[0] = static_cast<uint32_t>(kernel.threads);
  launch.sharedBytes = static_cast<uint32_t>(kernel.sharedBytes);
  for (const TensorMapInfo &map : kernel.tensorMaps)
    launch.tensorMaps.push_back(tensorMapOf(map));
  return launch;
}

class NvptxTarget : public target::Target {
public:
  NvptxTarget(const Chip &chip, const CompileOptions &options)
      : chip(chip), options(options),
        isVirtual(TargetName::of(options.target).machine == TargetName::Machine::virtualGpu) {}

  std::string identity() const override {
    if (isVirtual)
      return concat(chip.name);
    return concat(chip.name, " with ptxas ", ptxas() ? ptxas()->version() : "missing");
  }
  void attach(ModuleOp module) const override {
    attachTarget(module, chip, std::clamp<int64_t>(options.processors, 0, chip.multiprocessors));
  }
  bool isGpu() const override { return true; }
  void addLowerPasses(OpPassManager &passes) const override {
    passes.addPass(target::createLowerCustomCallsPass());
    passes.addPass(target::createLowerCollectivesPass());
    passes.addPass(target::createVerifyGpuOpsPass());
    passes.addPass(createNvptxApproximatePass({.accuracy = options.gpuAccuracy}));
  }

  Result<target::GeneratedCode> generate(ModuleOp module, bool wantsBudgets) const override {
    TILEWRIGHT_ASSIGN(GpuCode gpuCode, generateCode(module, chip));
    target::GeneratedCode code;
    for (const KernelInfo &kernel : gpuCode.kernels)
      code.kernels[kernel.name] = {.symbol = kernel.symbol, .gpu = launchOf(kernel)};
    const auto *text = reinterpret_cast<const std::byte *>(gpuCode.ptx.data());
    if (!gpuCode.ptx.empty())
      code.objects.emplace_back(text, text + gpuCode.ptx.size());
    code.target.triple = triple;
    code.target.cpu = chip.name;
    // The virtual GPU runs PTX only.
    if (!gpuCode.ptx.empty() && ptxas() && (!isVirtual || wantsBudgets))
      TILEWRIGHT_TRY(assemble(gpuCode, code));
    return code;
  }

private:
  /// Assembles machine code. Without it, the CUDA driver compiles the PTX.
  ///  - gpuBudget: a kernel needs more registers than a multiprocessor has.
  Status assemble(const GpuCode &gpuCode, target::GeneratedCode &code) const {
    std::optional<FileCache> cache;
    if (!options.cacheDir.empty())
      cache.emplace(options.cacheDir, options.cacheBytes);
    TILEWRIGHT_ASSIGN(Assembled assembled,
                      ptxas()->assemble(gpuCode.ptx, chip, cache ? &*cache : nullptr));
    for (const KernelInfo &kernel : gpuCode.kernels)
      for (const KernelBudget &budget : assembled.kernels)
        if (budget.symbol == kernel.symbol)
          TILEWRIGHT_TRY(checkLaunch(chip, kernel.name, kernel.threads, budget.registers));
    if (!isVirtual)
      code.binary = std::move(assembled.binary);
    code.budgets = std::move(assembled.kernels);
    code.assembler = concat("ptxas ", ptxas()->version());
    return Status();
  }

  /// ptxas, or null if it is not found. Searched for once, so that all stages use the same one.
  const Ptxas *ptxas() const {
    if (!found)
      found.emplace(Ptxas::find());
    return found->isOk() ? &**found : nullptr;
  }

  const Chip &chip;
  const CompileOptions options;
  const bool isVirtual;
  mutable std::optional<Result<Ptxas>> found;
};

std::unique_ptr<target::Target> create(const Options &options) {
  const TargetName name = TargetName::of(options.compile.target);
  const Chip *chip = name.isGpu() ? chipNamed(name.chip) : nullptr;
  return chip ? std::make_unique<NvptxTarget>(*chip, options.compile) : nullptr;
}

} // namespace

target::Backend backend() { return {target::namesOf(chips()), create}; }

} // namespace tilewright::nvptx
