// transform/communicate: fewer, larger and earlier collectives.
#ifndef TILEWRIGHT_TRANSFORM_COMMUNICATE_PASSES_H
#define TILEWRIGHT_TRANSFORM_COMMUNICATE_PASSES_H

#include "tilewright/support/Options.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace tilewright::communicate {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tilewright/transform/communicate/Passes.h.inc"

/// Adds all passes of the phase; runs on a module.
void buildCommunicatePipeline(mlir::OpPassManager &passes, const CommunicateOptions &options = {});

/// Registers the passes and the pipeline (`communicate`) by name.
void registerCommunicatePasses();

} // namespace tilewright::communicate

#endif // TILEWRIGHT_TRANSFORM_COMMUNICATE_PASSES_H
