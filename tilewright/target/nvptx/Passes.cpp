#include "tilewright/target/nvptx/Passes.h"

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/target/codegen/CodeGenerator.h"
#include "tilewright/target/codegen/FindChip.h"
#include "tilewright/target/nvptx/GenerateCode.h"
#include "tilewright/target/nvptx/Ptxas.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright::nvptx {

#define GEN_PASS_DEF_NVPTXATTACHTARGETPASS
#define GEN_PASS_DEF_NVPTXPRINTCODEPASS
#include "tilewright/target/nvptx/Passes.h.inc"

/// The chip with this name; if the name is empty, the module's chip or else sm_90a. Reports an
/// error at the module if the name is unknown.
static const Chip *findChip(ModuleOp module, const std::string &name) {
  const Chip *target = targetOf(module);
  return codegen::findChip(module, name, chips(), target ? target : chipNamed("sm_90a"),
                           Error::gpuChip);
}

namespace {

struct NvptxAttachTarget : impl::NvptxAttachTargetPassBase<NvptxAttachTarget> {
  using NvptxAttachTargetPassBase::NvptxAttachTargetPassBase;
  void runOnOperation() override {
    if (const Chip *found = findChip(getOperation(), chip))
      attachTarget(getOperation(), *found);
    else
      signalPassFailure();
  }
};

struct NvptxPrintCode : impl::NvptxPrintCodePassBase<NvptxPrintCode> {
  using NvptxPrintCodePassBase::NvptxPrintCodePassBase;
  void getDependentDialects(DialectRegistry &registry) const override {
    NvptxPrintCodePassBase::getDependentDialects(registry);
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
    if (!code.isOk())
      return fail(std::move(code).takeStatus());
    if (level != "budget" || code->ptx.empty())
      return;
    auto assembler = Ptxas::find(ptxas);
    if (!assembler.isOk())
      return fail(std::move(assembler).takeStatus());
    auto made = assembler->assemble(code->ptx, *found);
    if (!made.isOk())
      return fail(std::move(made).takeStatus());
    llvm::outs() << "ptxas " << assembler->version() << "\n";
    for (const KernelBudget &kernel : made->kernels)
      llvm::outs() << kernel.symbol << ": " << kernel.registers << " registers, "
                   << kernel.spillStoreBytes << " bytes spilled, " << kernel.stackBytes
                   << " of stack, " << kernel.sharedBytes << " of static shared memory\n";
  }
  void fail(const Status &status) {
    getOperation().emitError() << status.toString();
    signalPassFailure();
  }
};

} // namespace

} // namespace tilewright::nvptx
