// The passes of fusion and the pipeline that runs them; README.md says what the
// stage expects and gives.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_PASSES_H
#define TILEWRIGHT_TRANSFORM_FUSE_PASSES_H

#include "tilewright/support/Options.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include <string>

namespace tilewright::fuse {

#define GEN_PASS_DECL
#include "tilewright/transform/fuse/Passes.h.inc"

/// The whole stage, on a module.
void buildFusePipeline(mlir::OpPassManager &passes, const FuseOptions &options = {});

/// A table for people: each kind of fusion with its count, ops and reason, then
/// the ops that stand alone.
std::string summarizeFusions(mlir::Operation *root);

/// Makes the passes and the pipeline (`fuse`) known to tools by name.
void registerFusePasses();

} // namespace tilewright::fuse

#endif // TILEWRIGHT_TRANSFORM_FUSE_PASSES_H
