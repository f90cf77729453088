#include "tilewright/target/cpu/Codegen.h"

#include "tilewright/support/Concat.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/DCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <mutex>

extern "C" void LLVMInitializeX86TargetInfo();
extern "C" void LLVMInitializeX86Target();
extern "C" void LLVMInitializeX86TargetMC();
extern "C" void LLVMInitializeX86AsmPrinter();

using namespace llvm;

namespace tilewright::cpu {

static StringRef toRef(std::string_view text) { return {text.data(), text.size()}; }

Result<std::unique_ptr<TargetMachine>> createTargetMachine(const Chip &chip) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  std::string error;
  Triple target(toRef(triple));
  const llvm::Target *found = TargetRegistry::lookupTarget(target, error);
  if (!found)
    return Status(Error::cpuCodegen, concat("no code generator for ", triple, ": ", error));
  TargetOptions options;
  // Results do not depend on what the compiler finds: no fused multiply-add but those written.
  options.AllowFPOpFusion = FPOpFusion::Strict;
  std::string features;
  for (std::string_view feature : chip.features)
    features += concat(features.empty() ? "+" : ",+", feature);
  std::unique_ptr<TargetMachine> machine(
      found->createTargetMachine(target, toRef(chip.cpu), features, options, Reloc::PIC_,
                                 CodeModel::Small, CodeGenOptLevel::Default));
  // LLVM takes an unknown name for the oldest chip, without a word to us.
  if (!machine || !machine->getMCSubtargetInfo()->isCPUStringValid(toRef(chip.cpu)))
    return Status(Error::cpuCodegen, concat("LLVM has no code generator for the chip '", chip.cpu,
                                            "' that row ", chip.name, " of Chips.def names"));
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
  for (Function &function : module)
    if (!function.isDeclaration())
      passes.run(function, functions);
}

static bool emit(Module &module, TargetMachine &machine, SmallVectorImpl<char> &out,
                 CodeGenFileType type) {
  raw_svector_ostream stream(out);
  legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    return false;
  passes.run(module);
  return true;
}

Result<std::vector<std::byte>> emitObject(Module &module, TargetMachine &machine) {
  SmallVector<char, 0> out;
  if (!emit(module, machine, out, CodeGenFileType::ObjectFile))
    return Status(Error::cpuCodegen, "the code generator cannot write objects for this chip");
  auto *bytes = reinterpret_cast<const std::byte *>(out.data());
  return std::vector<std::byte>(bytes, bytes + out.size());
}

std::string emitAssembly(Module &module, TargetMachine &machine) {
  SmallVector<char, 0> out;
  emit(module, machine, out, CodeGenFileType::AssemblyFile);
  return std::string(out.data(), out.size());
}

} // namespace tilewright::cpu
