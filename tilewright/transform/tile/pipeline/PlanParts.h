// PlanParts: functions that the planner and its checker share.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PLANPARTS_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PLANPARTS_H

#include "tilewright/transform/tile/pipeline/Plan.h"

namespace tilewright::pipeline {

/// The cycles from the start of the op that writes the buffer until its last reader is done.
int64_t lifetime(const PipelineProblem &problem, const Schedule &schedule, const Buffer &buffer);

/// The size of one slot of a channel in a memory space.
int64_t slotSize(const PipelineProblem &problem, const Channel &channel, Space space);

/// The loop with dependences that limit channels to these depths: a slot is written again only
/// after it was read.
Loop withDepths(const PipelineProblem &problem, llvm::ArrayRef<int64_t> depths);

/// Determines the groups, warps and registers of each role. The slots of channels occupy `held`
/// registers per thread. Returns false and sets `reason` if there are too few registers or threads.
bool giveRegisters(const PipelineProblem &problem, int64_t held, PipelinePlan &plan,
                   std::string &reason);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PLANPARTS_H
