#include "tilewright/target/codegen/CodeGenerator.h"

#include "tilewright/support/Concat.h"

#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace llvm;

namespace tilewright::codegen {

Result<std::unique_ptr<TargetMachine>> createMachine(const MachineRequest &request) {
  std::string error;
  Triple target(toRef(request.triple));
  const llvm::Target *found = TargetRegistry::lookupTarget(target, error);
  if (!found)
    return Status(request.failure, concat("no code generator for ", request.triple, ": ", error));
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Strict;
  std::unique_ptr<TargetMachine> machine(
      found->createTargetMachine(target, toRef(request.cpu), request.features, options,
                                 request.relocation, request.codeModel, CodeGenOptLevel::Default));
  // LLVM takes an unknown name for the oldest chip, without a word to us.
  if (!machine || !machine->getMCSubtargetInfo()->isCPUStringValid(toRef(request.cpu)))
    return Status(request.failure, concat("LLVM has no code generator for the chip '", request.cpu,
                                          "'", request.origin));
  return machine;
}

void optimize(Module &module, TargetMachine &machine, std::optional<FunctionPassManager> last) {
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
  if (last)
    passes.addPass(std::move(*last));
  for (Function &function : module)
    if (!function.isDeclaration())
      passes.run(function, functions);
}

} // namespace tilewright::codegen
