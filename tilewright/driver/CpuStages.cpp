#include "tilewright/driver/Emit.h"
#include "tilewright/driver/TargetStages.h"
#include "tilewright/support/TargetName.h"
#include "tilewright/target/cpu/Chip.h"
#include "tilewright/target/cpu/Passes.h"
#include "tilewright/target/cpu/Target.h"

#include <algorithm>
#include <thread>

using namespace mlir;

namespace tilewright::driver {
namespace {

class CpuStages : public TargetStages {
public:
  CpuStages(const cpu::Chip &chip, int64_t threads) : chip(chip), threads(threads) {}

  void attach(ModuleOp module) override { cpu::attachTarget(module, chip, /*cores=*/threads); }
  void addFusePasses(OpPassManager &passes) override {
    // Fusions that products compute need no kernel.
    passes.addPass(cpu::createCpuFuseEpiloguesPass());
  }
  void addLowerPasses(OpPassManager &passes) override { cpu::buildLowerPipeline(passes); }

  Result<artifact::Executable> generate(ModuleOp module) override {
    cpu::CodegenOptions codegen;
    codegen.threads = static_cast<unsigned>(threads);
    TILEWRIGHT_ASSIGN(cpu::ObjectCode code, cpu::generateObject(module, chip, codegen));
    llvm::StringMap<KernelFacts> facts;
    for (const cpu::KernelInfo &kernel : code.kernels)
      facts[kernel.symbol] = {kernel.grid, kernel.scratchBytes, kernel.itemCost};
    TILEWRIGHT_ASSIGN(artifact::Executable executable, emitExecutable(module, facts));
    executable.object = std::move(code.bytes);
    executable.target.triple = cpu::triple;
    executable.target.cpu = chip.name;
    for (std::string_view feature : chip.features)
      executable.target.features.emplace_back(feature);
    return executable;
  }

private:
  const cpu::Chip &chip;
  const int64_t threads;
};

/// Threads that programs will run on, and that the code generator may use before: those of the
/// runtime, which are as many as there are cores unless it is told otherwise.
int64_t threadsFor(const Options &options) {
  if (options.runtime.threads > 0)
    return options.runtime.threads;
  return std::max<int64_t>(1, std::thread::hardware_concurrency());
}

} // namespace

std::unique_ptr<TargetStages> createCpuStages(const CompileRequest &request) {
  const TargetName name = TargetName::of(request.options.compile.target);
  if (name.isGpu())
    return nullptr;
  const cpu::Chip *chip = name.chip.empty() ? &cpu::hostChip() : cpu::chipNamed(name.chip);
  return chip ? std::make_unique<CpuStages>(*chip, threadsFor(request.options)) : nullptr;
}

} // namespace tilewright::driver
