#include "tilewright/target/amdgcn/Passes.h"

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/target/amdgcn/GenerateCode.h"
#include "tilewright/target/codegen/CodeGenerator.h"
#include "tilewright/target/codegen/FindChip.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright::amdgcn {

#define GEN_PASS_DEF_AMDGCNATTACHTARGETPASS
#define GEN_PASS_DEF_AMDGCNPRINTCODEPASS
#include "tilewright/target/amdgcn/Passes.h.inc"

/// The chip with this name; if the name is empty, the module's chip or else gfx950. Reports an
/// error at the module if the name is unknown.
static const Chip *findChip(ModuleOp module, const std::string &name) {
  const Chip *target = targetOf(module);
  return codegen::findChip(module, name, chips(), target ? target : chipNamed("gfx950"),
                           Error::gpuChip);
}

namespace {

struct AmdgcnAttachTarget : impl::AmdgcnAttachTargetPassBase<AmdgcnAttachTarget> {
  using AmdgcnAttachTargetPassBase::AmdgcnAttachTargetPassBase;
  void runOnOperation() override {
    if (const Chip *found = findChip(getOperation(), chip))
      attachTarget(getOperation(), *found);
    else
      signalPassFailure();
  }
};

struct AmdgcnPrintCode : impl::AmdgcnPrintCodePassBase<AmdgcnPrintCode> {
  using AmdgcnPrintCodePassBase::AmdgcnPrintCodePassBase;
  void getDependentDialects(DialectRegistry &registry) const override {
    AmdgcnPrintCodePassBase::getDependentDialects(registry);
    registerDialects(registry);
  }
  void runOnOperation() override {
    const Chip *found = findChip(getOperation(), chip);
    if (!found)
      return signalPassFailure();
    CodegenOptions options;
    options.dumpLevel = level;
    options.dump = codegen::printCode;
    auto code = generateCode(getOperation(), *found, options);
    if (!code.isOk()) {
      getOperation().emitError() << std::move(code).takeStatus().toString();
      return signalPassFailure();
    }
    if (level != "budget")
      return;
    for (const target::KernelBudget &kernel : code->budgets)
      llvm::outs() << kernel.symbol << ": " << kernel.registers << " registers, "
                   << kernel.spillStoreBytes << " bytes spilled, " << kernel.stackBytes
                   << " of stack, " << kernel.sharedBytes << " of static LDS\n";
  }
};

} // namespace

} // namespace tilewright::amdgcn
