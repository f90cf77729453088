// Translates the code of threads (llvm, nvvm and lane dialects) to LLVM IR.
#ifndef TILEWRIGHT_TARGET_LANES_TRANSLATE_H
#define TILEWRIGHT_TARGET_LANES_TRANSLATE_H

#include "tilewright/support/Status.h"
#include "tilewright/target/lanes/Lanes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <memory>

namespace tilewright::lanes {

/// Adds the lane dialect and its translation to LLVM IR.
void registerTranslation(mlir::DialectRegistry &registry);

/// A module in LLVM IR. If it is null, either an op is not supported by the machine (`failure`, in
/// the function `function`), or the code is invalid (`problem`).
struct Translation {
  std::unique_ptr<llvm::Module> module;
  Status failure;
  std::string function;
  std::string problem;
};

/// Translates a module of llvm, nvvm and lane ops. `registerTranslation` and the translations of
/// the other dialects must have been registered with its context.
Translation translate(mlir::ModuleOp module, llvm::LLVMContext &context, const Machine &machine);

} // namespace tilewright::lanes

#endif // TILEWRIGHT_TARGET_LANES_TRANSLATE_H
