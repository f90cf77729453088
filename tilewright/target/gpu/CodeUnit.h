// CodeUnit: the kernels of a module on their way to LLVM.
#ifndef TILEWRIGHT_TARGET_GPU_CODEUNIT_H
#define TILEWRIGHT_TARGET_GPU_CODEUNIT_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"
#include "tilewright/support/WorkLimit.h"
#include "tilewright/target/gpu/KernelInfo.h"
#include "tilewright/target/gpu/thread/ThreadBuilder.h"
#include "tilewright/target/lanes/Lanes.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright::gpu {

/// Owns everything that LLVM uses, so that an abandoned compile thread can still finish safely.
struct CodeUnit {
  std::unique_ptr<llvm::TargetMachine> machine;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code;
};

/// A symbol that is not in `taken` and that assemblers accept; adds it.
std::string symbolFor(llvm::StringRef name, llvm::StringSet<> &taken);

/// An empty module for lowered kernels, with the machine's triple and data layout. Loads the
/// dialects of `registry`.
mlir::OwningOpRef<mlir::ModuleOp> moduleForKernels(mlir::ModuleOp module,
                                                   const llvm::TargetMachine &machine,
                                                   const mlir::DialectRegistry &registry);

/// Lowers the kernels of `module` to functions of `lowered`, each by a call of `lower`.
template <typename Info, typename Lower>
Result<std::vector<Info>> lowerKernels(mlir::ModuleOp module, mlir::ModuleOp lowered,
                                       const Machine &machine, Lower lower) {
  std::vector<Info> infos;
  ThreadBuilder builder(lowered, machine);
  llvm::StringSet<> taken;
  for (sm::KernelOp kernel : module.getOps<sm::KernelOp>()) {
    if (WorkLimit::mustStop())
      return WorkLimit::stopAt(concat("kernel ", kernel.getSymName().str()));
    Info info;
    info.name = kernel.getSymName().str();
    info.symbol = symbolFor(info.name, taken);
    // Do not use info.name: it is moved from before the span ends.
    trace::Span span("compile", std::string_view(kernel.getSymName()));
    lower(builder, kernel, info);
    TILEWRIGHT_TRY(std::move(builder.failure).during(concat("compiling kernel ", info.name)));
    infos.push_back(std::move(info));
  }
#ifndef NDEBUG
  if (failed(mlir::verify(lowered)))
    return Status(Error::gpuCodegen, "the lowered kernels are invalid");
#endif
  return infos;
}

/// Translates the functions to LLVM IR. `nameOf` gives the kernel of a symbol.
Status translateKernels(mlir::ModuleOp lowered, const lanes::Machine &machine, CodeUnit &unit,
                        llvm::function_ref<std::string(llvm::StringRef symbol)> nameOf);

/// The kernel that has this symbol.
template <typename Info>
std::string nameOfSymbol(const std::vector<Info> &infos, llvm::StringRef symbol) {
  for (const Info &info : infos)
    if (info.symbol == symbol)
      return info.name;
  return {};
}

/// The code as text, for a dump.
template <typename Code> std::string textOf(const Code &code) {
  std::string text;
  llvm::raw_string_ostream(text) << code;
  return text;
}

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_CODEUNIT_H
