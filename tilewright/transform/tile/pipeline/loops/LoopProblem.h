// LoopProblem: a loop with several products as a problem for planPipeline().
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_LOOPPROBLEM_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_LOOPPROBLEM_H

#include "tilewright/transform/tile/pipeline/Gemm.h"
#include "tilewright/transform/tile/pipeline/loops/ProductLoop.h"

#include "llvm/ADT/MapVector.h"

namespace tilewright::pipeline {

/// Indices of the plan's roles. The last two exist if accumulators are in tensor memory: one warp
/// multiplies, and idle warps complete the warpgroup of those that load and multiply.
enum LoopRole : unsigned { loopLoad, loopMath, loopMma, loopIdle };

/// The schedule of the loop's ops, and the roles that run them.
struct LoopPlan {
  PipelinePlan plan;
  /// The number of warpgroups in the math role; each has ProductLoop::groupRows().
  int64_t groups = 1;
  /// Whether the warpgroups take turns to issue their products, so that one multiplies while the
  /// others compute.
  bool takesTurns = false;
  /// The ops of the math role in the order of the steady state. An op of stage 1 works on the
  /// iteration before the newest one.
  struct Step {
    mlir::Operation *op;
    int64_t stage;
  };
  llvm::SmallVector<Step> steps;
  /// The number of slots for each load in the loop.
  llvm::MapVector<mlir::Operation *, int64_t> depths;
  /// Cycles of an iteration; and cycles before the first iteration and after the last one.
  int64_t interval = 0, fill = 0;
};

/// The best plan for the loop with `groups` warpgroups; nullopt if there is none, with the reason.
std::optional<LoopPlan> planLoop(ProductLoop &products, const Machine &machine, int64_t groups,
                                 std::string &reason);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_LOOPPROBLEM_H
