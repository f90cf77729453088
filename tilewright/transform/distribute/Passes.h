// transform/distribute: partitions a program for many devices (SPMD).
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_PASSES_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tilewright::distribute {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tilewright/transform/distribute/Passes.h.inc"

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_PASSES_H
