// The passes of the fusion phase and the pipeline that runs them. README.md describes the phase's
// input and output.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_PASSES_H
#define TILEWRIGHT_TRANSFORM_FUSE_PASSES_H

#include "tilewright/support/Options.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace tilewright::fuse {

#define GEN_PASS_DECL
#include "tilewright/transform/fuse/Passes.h.inc"

/// Adds all passes of the phase; runs on a module. `addTargetPasses` adds the passes of a target,
/// which run on fusions before the phase is verified.
void buildFusePipeline(mlir::OpPassManager &passes, const FuseOptions &options = {},
                       llvm::function_ref<void(mlir::OpPassManager &)> addTargetPasses = nullptr);

/// Returns a table of all kinds of fusions with count, ops and reason, followed by the ops that are
/// not fused.
std::string summarizeFusions(mlir::Operation *root);

/// Registers the passes by name. The driver registers the pipeline, to which targets add passes.
void registerFusePasses();

} // namespace tilewright::fuse

#endif // TILEWRIGHT_TRANSFORM_FUSE_PASSES_H
