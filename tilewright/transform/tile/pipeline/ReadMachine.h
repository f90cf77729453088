// ReadMachine: what `exec.target` says of a GPU's engines.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_READMACHINE_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_READMACHINE_H

#include "tilewright/transform/tile/pipeline/Gemm.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace tilewright::pipeline {

/// The machine of an `exec.target` of a GPU; nothing if it says nothing of rates.
std::optional<Machine> readMachine(mlir::Attribute target);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_READMACHINE_H
