#include "tilewright/target/amdgcn/AmdgcnTarget.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/TargetName.h"
#include "tilewright/target/Passes.h"
#include "tilewright/target/amdgcn/Chip.h"
#include "tilewright/target/amdgcn/GenerateCode.h"

#include "llvm/Config/llvm-config.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::amdgcn {
namespace {

artifact::GpuLaunch launchOf(const gpu::KernelInfo &kernel) {
  artifact::GpuLaunch launch;
  for (size_t i = 0; i < 3; ++i)
    launch.grid[i] = static_cast<uint32_t>(kernel.grid[i]);
  launch.block[0] = static_cast<uint32_t>(kernel.threads);
  launch.sharedBytes = static_cast<uint32_t>(kernel.sharedBytes);
  return launch;
}

class AmdgcnTarget : public target::Target {
public:
  AmdgcnTarget(const Chip &chip, const CompileOptions &options) : chip(chip), options(options) {}

  std::string identity() const override { return std::string(chip.name); }
  void attach(ModuleOp module) const override {
    attachTarget(module, chip, std::clamp<int64_t>(options.processors, 0, chip.computeUnits));
  }
  bool isGpu() const override { return true; }
  void addLowerPasses(OpPassManager &passes) const override {
    passes.addPass(target::createLowerCustomCallsPass());
    passes.addPass(target::createLowerCollectivesPass());
    passes.addPass(target::createVerifyGpuOpsPass());
  }

  Result<target::GeneratedCode> generate(ModuleOp module, bool) const override {
    TILEWRIGHT_ASSIGN(GpuCode made, generateCode(module, chip));
    target::GeneratedCode code;
    for (const gpu::KernelInfo &kernel : made.kernels)
      code.kernels[kernel.name] = {.symbol = kernel.symbol, .gpu = launchOf(kernel)};
    const auto *bytes = reinterpret_cast<const std::byte *>(made.object.data());
    if (!made.object.empty())
      code.objects.emplace_back(bytes, bytes + made.object.size());
    code.target.triple = triple;
    code.target.cpu = chip.name;
    code.budgets = std::move(made.budgets);
    code.assembler = "LLVM " LLVM_VERSION_STRING;
    return code;
  }

private:
  const Chip &chip;
  const CompileOptions options;
};

std::unique_ptr<target::Target> create(const Options &options) {
  const TargetName name = TargetName::of(options.compile.target);
  const Chip *chip = name.isAmd() ? chipNamed(name.chip) : nullptr;
  return chip ? std::make_unique<AmdgcnTarget>(*chip, options.compile) : nullptr;
}

} // namespace

target::Backend backend() { return {target::namesOf(chips()), create}; }

} // namespace tilewright::amdgcn
