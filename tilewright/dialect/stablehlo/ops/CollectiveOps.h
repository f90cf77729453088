// Collective ops, which all processes of a group execute together.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_OPS_COLLECTIVEOPS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_OPS_COLLECTIVEOPS_H

#include "tilewright/dialect/stablehlo/StablehloOpBase.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"

#define GET_OP_CLASSES
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h.inc"

#endif // TILEWRIGHT_DIALECT_STABLEHLO_OPS_COLLECTIVEOPS_H
