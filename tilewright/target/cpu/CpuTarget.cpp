#include "tilewright/target/cpu/CpuTarget.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/TargetName.h"
#include "tilewright/target/cpu/Chip.h"
#include "tilewright/target/cpu/GenerateObject.h"
#include "tilewright/target/cpu/Passes.h"

#include <algorithm>
#include <thread>

using namespace mlir;

namespace tilewright::cpu {
namespace {

class CpuTarget : public target::Target {
public:
  CpuTarget(const Chip &chip, int64_t threads) : chip(chip), threads(threads) {}

  std::string identity() const override { return concat(chip.name, " with ", threads, " threads"); }
  void attach(ModuleOp module) const override { attachTarget(module, chip, /*cores=*/threads); }
  void addFusePasses(OpPassManager &passes) const override {
    passes.addPass(createCpuLowerAttentionPass());
    // Fusions that become epilogues of a matmul need no kernel of their own.
    passes.addPass(createCpuFuseEpiloguesPass());
  }
  void addLowerPasses(OpPassManager &passes) const override { buildLowerPipeline(passes); }

  Result<target::GeneratedCode> generate(ModuleOp module, bool) const override {
    CodegenOptions codegen;
    codegen.threads = static_cast<unsigned>(threads);
    TILEWRIGHT_ASSIGN(ObjectCode made, generateObject(module, chip, codegen));
    target::GeneratedCode code;
    for (const KernelInfo &kernel : made.kernels)
      code.kernels[kernel.symbol] = {kernel.grid, kernel.scratchBytes, kernel.itemCost};
    code.objects = std::move(made.objects);
    code.target.triple = triple;
    code.target.cpu = chip.name;
    for (std::string_view feature : chip.features)
      code.target.features.emplace_back(feature);
    return code;
  }

private:
  const Chip &chip;
  const int64_t threads;
};

/// The number of threads on which the runtime will run programs: `runtime.threads`, or one per
/// core. The code generator may use as many.
int64_t threadsFor(const Options &options) {
  if (options.runtime.threads > 0)
    return options.runtime.threads;
  return std::max<int64_t>(1, std::thread::hardware_concurrency());
}

std::unique_ptr<target::Target> create(const Options &options) {
  const TargetName name = TargetName::of(options.compile.target);
  if (name.isGpu())
    return nullptr;
  const Chip *chip = name.chip.empty() ? &hostChip() : chipNamed(name.chip);
  return chip ? std::make_unique<CpuTarget>(*chip, threadsFor(options)) : nullptr;
}

} // namespace

target::Backend backend() { return {target::namesOf(chips()), create}; }

} // namespace tilewright::cpu
