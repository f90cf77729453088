#include "tilewright/target/cpu/Passes.h"

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/target/codegen/CodeGenerator.h"
#include "tilewright/target/codegen/FindChip.h"
#include "tilewright/target/cpu/GenerateObject.h"

using namespace mlir;

namespace tilewright::cpu {

#define GEN_PASS_DEF_CPUATTACHTARGETPASS
#define GEN_PASS_DEF_CPUPRINTCODEPASS
#include "tilewright/target/cpu/Passes.h.inc"

/// The chip with this name; if the name is empty, the module's chip or else the host's. Reports an
/// error at the module if the name is unknown.
static const Chip *findChip(ModuleOp module, const std::string &name) {
  const Chip *target = targetOf(module);
  return codegen::findChip(module, name, chips(), target ? target : &hostChip(), Error::cpuChip);
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
    options.dump = codegen::printCode;
    auto code = generateObject(getOperation(), *found, options);
    if (!code.isOk()) {
      getOperation().emitError() << std::move(code).takeStatus().toString();
      signalPassFailure();
    }
  }
};

} // namespace

} // namespace tilewright::cpu
