#include "tilewright/target/nvptx/Codegen.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/codegen/CodeGenerator.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Pass.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/Scalar.h"
#include "llvm/Transforms/Scalar/DCE.h"

using namespace llvm;

namespace tilewright::nvptx {

Result<std::unique_ptr<TargetMachine>> createTargetMachine(const Chip &chip, uint32_t minPtx) {
  codegen::registerTarget<LLVMInitializeNVPTXTargetInfo, LLVMInitializeNVPTXTarget,
                          LLVMInitializeNVPTXTargetMC, LLVMInitializeNVPTXAsmPrinter>();
  return codegen::createMachine({.triple = triple,
                                 .cpu = chip.name,
                                 .features = concat("+ptx", std::max(chip.ptxVersion, minPtx)),
                                 .failure = Error::gpuCodegen,
                                 .origin = " (NvidiaChips.def)"});
}

void optimize(Module &module, TargetMachine &machine) {
  FunctionPassManager last;
  last.addPass(DCEPass());
  codegen::optimize(module, machine, std::move(last));
}

Status checkNoPairs(const Module &module) {
  for (const Function &function : module)
    for (const BasicBlock &block : function)
      for (const Instruction &instruction : block) {
        const bool computes =
            isa<BinaryOperator, UnaryOperator, FCmpInst>(instruction) ||
            (isa<CallBase>(instruction) && !cast<CallBase>(instruction).isInlineAsm());
        auto *type = dyn_cast<FixedVectorType>(instruction.getType());
        if (computes && type && type->getElementType()->isFloatTy()) {
          std::string text;
          raw_string_ostream(text) << instruction;
          return Status(Error::gpuCodegen,
                        concat("'", text, "' in ", function.getName().str(),
                               " computes with vectors of f32, which some versions of ptxas "
                               "contract to fused multiply-adds"));
        }
      }
  return {};
}

namespace {
/// The code generator's passes except straight-line strength reduction. That pass compares every
/// addition of a block with every other: it took 1.74 of 1.83 s for a kernel of 3,400 instructions,
/// and our addresses are already split.
class Passes : public codegen::CodegenPasses {
public:
  void add(Pass *pass) override {
    // LLVM has no option to disable it.
    static const AnalysisID unwanted =
        std::unique_ptr<Pass>(createStraightLineStrengthReducePass())->getPassID();
    if (pass->getPassID() == unwanted)
      delete pass;
    else
      CodegenPasses::add(pass);
  }
};
} // namespace

Result<std::string> emitPtx(Module &module, TargetMachine &machine) {
  SmallVector<char, 0> out;
  raw_svector_ostream stream(out);
  Passes passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::AssemblyFile))
    return Status(Error::gpuCodegen, "LLVM cannot emit PTX for this chip");
  passes.run(module);
  return std::string(out.data(), out.size());
}

} // namespace tilewright::nvptx
