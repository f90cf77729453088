// Branches, loops, tuples and tokens.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_OPS_CONTROLFLOWOPS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_OPS_CONTROLFLOWOPS_H

#include "tilewright/dialect/stablehlo/StablehloOpBase.h"

#define GET_OP_CLASSES
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h.inc"

#endif // TILEWRIGHT_DIALECT_STABLEHLO_OPS_CONTROLFLOWOPS_H
