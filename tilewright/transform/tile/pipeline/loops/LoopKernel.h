// LoopKernel: a kernel with several products in a loop, divided into roles.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_LOOPKERNEL_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_LOOPKERNEL_H

#include "tilewright/transform/tile/pipeline/loops/LoopProblem.h"
#include "tilewright/transform/tile/pipeline/loops/TileLayouts.h"

namespace tilewright::pipeline {

/// A kernel and the plan for its loop.
struct PlannedLoop {
  ProductLoop products;
  LoopPlan plan;
};

/// The plan for a kernel whose loop has several products; nullopt if it has none, with the reason.
std::optional<PlannedLoop> planProductLoop(tile::KernelOp kernel, const Machine &machine,
                                           std::string &reason);

/// Replaces the kernel by two roles. The load role has the staged loads, with the loops and scalars
/// on which they depend; the math role has everything else, and its loop overlaps two iterations as
/// planned.
sm::KernelOp makeLoopKernel(PlannedLoop &planned);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_LOOPKERNEL_H
