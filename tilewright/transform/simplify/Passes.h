// The passes of the simplification phase and the pipeline that runs them. README.md describes the
// phase's input and output.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_PASSES_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_PASSES_H

#include "tilewright/support/Options.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace tilewright::simplify {

#define GEN_PASS_DECL
#include "tilewright/transform/simplify/Passes.h.inc"

/// Adds all passes of the phase; runs on a module. With `checkProgress`, the measure is checked
/// after every rewrite (Rules.def).
void buildSimplifyPipeline(mlir::OpPassManager &passes, const SimplifyOptions &options = {},
                           bool checkProgress = false);

/// Adds the passes that run before distribute divides a program: inlining, and simplification that
/// keeps shardings.
void addPreparationPasses(mlir::OpPassManager &passes, const SimplifyOptions &options);

/// Registers the passes and the pipeline (`simplify`) by name.
void registerSimplifyPasses();

} // namespace tilewright::simplify

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_PASSES_H
