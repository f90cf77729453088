// The pass pipelines of the stages that need parts of several folders, as the compiler runs them
// and as tilewright-opt knows them.
#ifndef TILEWRIGHT_DRIVER_PIPELINES_H
#define TILEWRIGHT_DRIVER_PIPELINES_H

#include "tilewright/driver/Compile.h"
#include "tilewright/target/Target.h"

#include "mlir/Pass/PassManager.h"

namespace tilewright::driver {

// simplify, tile and schedule need no more than their own folders: buildSimplifyPipeline,
// buildTilePipeline, buildSchedulePipeline.

/// Divides the program among the ranks of the request.
/// `memoryLimit`: max bytes that shardings should hold on one device; 0 for no limit.
void buildDistribute(mlir::OpPassManager &passes, const CompileRequest &request,
                     int64_t memoryLimit = 0);

/// Groups ops into fusions, with the passes that the target adds; without a target if it is null.
void buildFuse(mlir::OpPassManager &passes, const target::Target *target,
               const FuseOptions &options);

/// Lowers kernels and the remaining ops to what the target generates code from.
void buildLower(mlir::OpPassManager &passes, const target::Target &target);

/// Registers all passes, and the pipeline of each stage under the stage's name: import, distribute,
/// simplify, fuse, tile, lower and schedule. `tilewright-opt --fuse --tile` then runs the passes
/// that the compiler runs. Later calls do nothing.
void registerPipelines();

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_PIPELINES_H
