#include "tilewright/target/nvptx/Codegen.h"

#include "tilewright/support/Concat.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/DCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <mutex>

extern "C" void LLVMInitializeNVPTXTargetInfo();
extern "C" void LLVMInitializeNVPTXTarget();
extern "C" void LLVMInitializeNVPTXTargetMC();
extern "C" void LLVMInitializeNVPTXAsmPrinter();

using namespace llvm;

namespace tilewright::nvptx {

static StringRef toRef(std::string_view text) { return {text.data(), text.size()}; }

Result<std::unique_ptr<TargetMachine>> createTargetMachine(const Chip &chip) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  Triple target(toRef(triple));
  const llvm::Target *found = TargetRegistry::lookupTarget(target, error);
  if (!found)
    return Status(Error::gpuCodegen, concat("no code generator for ", triple, ": ", error));
  TargetOptions options;
  // Results do not depend on what the compiler finds: no fused multiply-add but those written.
  options.AllowFPOpFusion = FPOpFusion::Strict;
  std::unique_ptr<TargetMachine> machine(
      found->createTargetMachine(target, toRef(chip.name), concat("+ptx", chip.ptxVersion), options,
                                 std::nullopt, std::nullopt, CodeGenOptLevel::Default));
  // LLVM takes an unknown name for the oldest chip, without a word to us.
  if (!machine || !machine->getMCSubtargetInfo()->isCPUStringValid(toRef(chip.name)))
    return Status(Error::gpuCodegen,
                  concat("LLVM has no code generator for the chip '", chip.name, "' of Chips.def"));
  return machine;
}

void optimize(Module &module, TargetMachine &machine) {
  PassBuilder builder(&machine);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager callGraph;
  ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  FunctionPassManager passes;
  passes.addPass(SROAPass(SROAOptions::ModifyCFG));
  passes.addPass(EarlyCSEPass(false));
  passes.addPass(InstCombinePass());
  passes.addPass(SimplifyCFGPass());
  passes.addPass(EarlyCSEPass(false));
  passes.addPass(DCEPass());
  for (Function &function : module)
    if (!function.isDeclaration())
      passes.run(function, functions);
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
          return Status(
              Error::gpuCodegen,
              concat("'", text, "' in ", function.getName().str(),
                     " computes with vectors of f32, which some versions of ptxas contract"));
        }
      }
  return {};
}

namespace {
/// The code generator's passes but one. Straight-line strength reduction compares every sum with
/// every other of its block: of 1.83 s for a kernel of 3,400 instructions it took 1.74, and
/// addresses come split already.
class Passes : public legacy::PassManager {
public:
  void add(Pass *pass) override {
    if (pass->getPassName() == "Straight line strength reduction")
      delete pass;
    else
      legacy::PassManager::add(pass);
  }
};
} // namespace

Result<std::string> emitPtx(Module &module, TargetMachine &machine) {
  SmallVector<char, 0> out;
  raw_svector_ostream stream(out);
  Passes passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::AssemblyFile))
    return Status(Error::gpuCodegen, "the code generator cannot write PTX for this chip");
  passes.run(module);
  return std::string(out.data(), out.size());
}

} // namespace tilewright::nvptx
