// The closing verifier of import as a pass, for tilewright-opt.
#ifndef TILEWRIGHT_IMPORT_PASSES_H
#define TILEWRIGHT_IMPORT_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace tilewright {

#define GEN_PASS_DECL
#include "tilewright/import/Passes.h.inc"

/// Adds all passes of the stage. Import itself reads bytes (importArtifact); this checks a module
/// that was read from text as importArtifact checks its result.
void buildImportPipeline(mlir::OpPassManager &passes);

/// Registers the passes and the pipeline (`import`) by name.
void registerImportPasses();

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_PASSES_H
