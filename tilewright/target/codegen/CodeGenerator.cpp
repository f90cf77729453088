#include "tilewright/target/codegen/CodeGenerator.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/WorkLimit.h"

#include "llvm/IR/Instructions.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Pass.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
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
    return Status(request.failure,
                  concat("LLVM does not support the target ", request.triple, ": ", error));
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Strict;
  std::unique_ptr<TargetMachine> machine(
      found->createTargetMachine(target, toRef(request.cpu), request.features, options,
                                 request.relocation, request.codeModel, CodeGenOptLevel::Default));
  // LLVM silently treats an unknown CPU name as the oldest chip.
  if (!machine || !machine->getMCSubtargetInfo()->isCPUStringValid(toRef(request.cpu)))
    return Status(request.failure,
                  concat("LLVM does not support the chip '", request.cpu, "'", request.origin));
  return machine;
}

void optimize(Module &module, TargetMachine &machine, std::optional<FunctionPassManager> last) {
  PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback(
      [](StringRef, Any) { return !WorkLimit::mustStop(); });
  PassBuilder builder(&machine, PipelineTuningOptions(), std::nullopt, &callbacks);
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
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    if (WorkLimit::mustStop())
      return WorkLimit::current()->noteStop(concat("kernel ", function.getName().str()));
    passes.run(function, functions);
  }
}

namespace {

class EmptyWhenStopped : public FunctionPass {
public:
  static char ID;
  EmptyWhenStopped() : FunctionPass(ID) {}

  bool runOnFunction(Function &function) override {
    if (!WorkLimit::mustStop())
      return false;
    WorkLimit::current()->noteStop(concat("kernel ", function.getName().str()));
    for (BasicBlock &block : function)
      block.dropAllReferences();
    while (!function.empty())
      function.begin()->eraseFromParent();
    new UnreachableInst(function.getContext(),
                        BasicBlock::Create(function.getContext(), "", &function));
    return true;
  }
};

char EmptyWhenStopped::ID = 0;

} // namespace

void CodegenPasses::add(Pass *pass) {
  if (pass->getPassKind() == PT_Function && isFirstOfFunctions) {
    isFirstOfFunctions = false;
    PassManager::add(new EmptyWhenStopped());
  } else if (pass->getPassKind() == PT_Module && !pass->getAsImmutablePass()) {
    isFirstOfFunctions = true;
  }
  PassManager::add(pass);
}

void printCode(std::string_view text) { outs() << toRef(text); }

} // namespace tilewright::codegen
