// TargetMachine: the target's parameters for the cost model.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_TARGETMACHINE_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_TARGETMACHINE_H

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/transform/tile/pipeline/Gemm.h"

namespace tilewright::pipeline {

/// The parameters of the cost model; nullopt if the target is not a GPU or its rates are unknown.
std::optional<Machine> machineOf(exec::TargetAttr target);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_TARGETMACHINE_H
