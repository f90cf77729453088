// The pass pipelines of stages that need parts of several folders, for the compiler and for
// tilewright-opt.
#ifndef TILEWRIGHT_DRIVER_PIPELINES_H
#define TILEWRIGHT_DRIVER_PIPELINES_H

#include "tilewright/driver/Compile.h"
#include "tilewright/target/Target.h"

#include "mlir/Pass/PassManager.h"

namespace tilewright::driver {

// simplify, tile and schedule need only their own folders: buildSimplifyPipeline,
// buildTilePipeline, buildSchedulePipeline.

/// Divides the program among the ranks of the request. `memoryLimit`: the maximum number of bytes
/// that shardings should hold on one device; 0 for no limit.
void buildDistribute(mlir::OpPassManager &passes, const CompileRequest &request,
                     int64_t memoryLimit = 0);

/// Groups ops into fusions, including the passes that the target adds; `target` may be null.
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
