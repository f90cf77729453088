#include "tilewright/target/nvptx/LinkLibrary.h"

#include "tilewright/support/Concat.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"

using namespace llvm;

namespace tilewright::nvptx {

/// The functions that the module calls but does not define.
static SmallVector<std::string> missingFunctions(const Module &code) {
  SmallVector<std::string> names;
  for (const Function &function : code)
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty())
      names.push_back(function.getName().str());
  return names;
}

/// Inlines the functions that kernels call, and then deletes those that are no longer called.
static void inlineCalls(Module &code, ArrayRef<std::string> called) {
  for (const std::string &name : called) {
    Function *function = code.getFunction(name);
    function->removeFnAttr(Attribute::NoInline);
    function->removeFnAttr(Attribute::OptimizeNone);
    function->addFnAttr(Attribute::AlwaysInline);
  }
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager calls;
  ModuleAnalysisManager modules;
  PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  ModulePassManager passes;
  passes.addPass(AlwaysInlinerPass());
  passes.addPass(GlobalDCEPass());
  passes.run(code, modules);
}

Status linkLibrary(Module &code, const std::string &path) {
  const SmallVector<std::string> missing = missingFunctions(code);
  if (missing.empty())
    return {};
  if (path.empty())
    return Status(Error::gpuCodegen,
                  concat("a kernel calls ", missing.front(),
                         ", but no device library is given; pass the path of NVSHMEM's "
                         "libnvshmem_device bitcode (CodegenOptions::deviceLibrary)"));
  SMDiagnostic problem;
  // Load lazily: the library has thousands of functions, of which kernels call a few.
  std::unique_ptr<Module> library = getLazyIRFileModule(path, problem, code.getContext());
  if (!library)
    return Status(Error::gpuCodegen, concat("the device library ", path,
                                            " is not LLVM bitcode: ", problem.getMessage().str()));
  StringSet<> own;
  for (const GlobalObject &object : code.global_objects())
    if (!object.isDeclaration())
      own.insert(object.getName());
  // LLVM versions differ in the data layout of address spaces that the library does not use.
  library->setDataLayout(code.getDataLayout());
  library->setTargetTriple(code.getTargetTriple());
  if (Linker::linkModules(code, std::move(library), Linker::LinkOnlyNeeded))
    return Status(Error::gpuCodegen, concat("the device library ", path, " cannot be linked"));
  for (const std::string &name : missing)
    if (code.getFunction(name)->isDeclaration())
      return Status(Error::gpuCodegen,
                    concat("the device library ", path, " has no function ", name));
  for (Function &function : code)
    if (!function.isDeclaration() && !own.contains(function.getName())) {
      function.setLinkage(GlobalValue::InternalLinkage);
      stripDebugInfo(function); // lines of files that the user does not have
    }
  // A call that is not inlined computes results that the kernel does not use:
  // nvshmem_signal_wait_until() ends with a plain load of the signal, which is a race with the next
  // signal.
  inlineCalls(code, missing);
  return {};
}

} // namespace tilewright::nvptx
