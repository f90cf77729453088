// LoopProblem: a loop with several products as a problem for planPipeline().
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_LOOPPROBLEM_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_LOOPPROBLEM_H

#include "tilewright/transform/tile/pipeline/Gemm.h"
#include "tilewright/transform/tile/pipeline/loops/ProductLoop.h"

#include "llvm/ADT/MapVector.h"

namespace tilewright::pipeline {

/// The roles of the plan, by their index.
enum LoopRole : unsigned { loopLoad, loopMath };

/// How a loop's ops are scheduled, and by whom they are run.
struct LoopPlan {
  PipelinePlan plan;
  /// The warpgroups of the math role, each of which has 64 or 128 rows.
  int64_t groups = 1;
  /// Whether the warpgroups issue their products in turns, so that those of one run while the
  /// others compute.
  bool takesTurns = false;
  /// The ops of the math role in the order of the steady state, and the iterations that each is
  /// behind the newest: 0 or 1.
  struct Step {
    mlir::Operation *op;
    int64_t stage;
  };
  llvm::SmallVector<Step> steps;
  /// The slots of each load in the loop.
  llvm::MapVector<mlir::Operation *, int64_t> depths;
  /// The cycles of an iteration, and those before the first and after the last.
  int64_t interval = 0, fill = 0;
};

/// The best plan for the loop with `groups` warpgroups; nullopt if there is none, with the reason.
std::optional<LoopPlan> planLoop(ProductLoop &products, const Machine &machine, int64_t groups,
                                 std::string &reason);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_LOOPPROBLEM_H
