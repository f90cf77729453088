// The passes of simplification and the pipeline that runs them; README.md says
// what the stage expects and gives.
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

/// The whole stage, on a module.
void buildSimplifyPipeline(mlir::OpPassManager &passes, const SimplifyOptions &options = {});

/// Makes the passes and the pipeline (`simplify`) known to tools by name.
void registerSimplifyPasses();

} // namespace tilewright::simplify

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_PASSES_H
