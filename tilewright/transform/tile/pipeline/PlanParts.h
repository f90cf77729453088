// PlanParts: what the making and the checking of a plan have in common.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PLANPARTS_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PLANPARTS_H

#include "tilewright/transform/tile/pipeline/Plan.h"

namespace tilewright::pipeline {

/// Cycles from the start of what writes the buffer to when its last reader is done with it.
int64_t lifetime(const PipelineProblem &problem, const Schedule &schedule, const Buffer &buffer);

/// What one slot of a channel takes of a space.
int64_t slotSize(const PipelineProblem &problem, const Channel &channel, Space space);

/// The loop in which a channel has so many slots: a slot is written again only after it was read.
Loop withDepths(const PipelineProblem &problem, llvm::ArrayRef<int64_t> depths);

/// The groups, warps and registers of each role. `held` registers of a thread are slots of
/// channels.
bool giveRegisters(const PipelineProblem &problem, int64_t held, PipelinePlan &plan,
                   std::string &reason);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PLANPARTS_H
