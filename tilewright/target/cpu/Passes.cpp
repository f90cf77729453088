#include "tilewright/target/cpu/Passes.h"

#include "tilewright/support/Errors.h"
#include "tilewright/target/cpu/Target.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright::cpu {

#define GEN_PASS_DEF_CPUATTACHTARGETPASS
#define GEN_PASS_DEF_CPUPRINTCODEPASS
#include "tilewright/target/cpu/Passes.h.inc"

/// The chip of this name, or this machine's; an error at the module if there is none.
static const Chip *findChip(ModuleOp module, const std::string &name) {
  if (name.empty()) {
    const Chip *target = targetOf(module);
    return target ? target : &hostChip();
  }
  if (const Chip *chip = chipNamed(name))
    return chip;
  InFlightDiagnostic error = module.emitError() << idOf(Error::cpuChip) << " target: no chip '"
                                                << name << "'; known are";
  for (const Chip &chip : chips())
    error << " " << StringRef(chip.name.data(), chip.name.size());
  return nullptr;
}

namespace {

struct CpuAttachTarget : impl::CpuAttachTargetPassBase<CpuAttachTarget> {
  using CpuAttachTargetPassBase::CpuAttachTargetPassBase;
  void runOnOperation() override {
    if (const Chip *found = findChip(getOperation(), chip))
      attachTarget(getOperation(), *found, cores);
    else
      signalPassFailure();
  }
};

struct CpuPrintCode : impl::CpuPrintCodePassBase<CpuPrintCode> {
  using CpuPrintCodePassBase::CpuPrintCodePassBase;
  void runOnOperation() override {
    const Chip *found = findChip(getOperation(), chip);
    if (!found)
      return signalPassFailure();
    CodegenOptions options;
    options.dumpLevel = level;
    options.threads = threads;
    options.dump = [](std::string_view text) {
      llvm::outs() << StringRef(text.data(), text.size());
    };
    auto code = generateObject(getOperation(), *found, options);
    if (!code.isOk()) {
      getOperation().emitError() << std::move(code).takeStatus().toString();
      signalPassFailure();
    }
  }
};

} // namespace

} // namespace tilewright::cpu
